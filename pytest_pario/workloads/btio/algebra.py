"""The arithmetic of BT, written once: on NumPy arrays it computes, on the values of `lanes` it emits vector code.

Every operand is many grid points at once that do not know of each other, so that no result depends on how the grid is
cut. Components are 0 density, 1 to 3 momenta, 4 energy, and 5 the reciprocal of the density (BT §2, §5, §6).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

C1, C2, C5 = 1.4, 0.4, 1.4
KAPPA, HEAT = 0.1, 0.196
"""c3 c4, and c1 c5 c3 c4."""
NORMAL = 4.0 / 3.0 * KAPPA
SECOND = (0.75, 0.75, 1.0)
"""Coefficients of the second difference in x, y and z."""
FOURTH = 0.25
RECIPROCAL = 5
"""Where 1 / density is kept beside the five components."""
STORED = 6

Value = Any
"""A NumPy array, or a value of `lanes`: + - * and unary minus."""
Matrix = list[dict[int, Value]]
"""Five rows, each with its entries that are not zero by column."""


def rhs_parameters(spacing: float) -> dict[str, float]:
    """Numbers that the right-hand side needs, by name; `spacing` is h."""
    t1, t2 = 1 / spacing**2, 1 / (2 * spacing)
    return {
        "t2": t2,
        "t2c2": t2 * C2,
        "t2c1": t2 * C1,
        "con1": NORMAL * t1,
        "con2": KAPPA * t1,
        "con3": KAPPA * t1 * (1 - C1 * C5) * 0.5,
        "con4": KAPPA * t1 / 6,
        "con5": HEAT * t1,
        **{f"d{axis}": SECOND[axis] * t1 for axis in range(3)},
    }


def dissipation(size: int) -> list[tuple[float, ...]]:
    """Weights of u(p-2) … u(p+2) in minus the fourth difference, for each index p of a line (BT §5)."""
    table = {1: (0, 0, 5, -4, 1), 2: (0, -4, 6, -4, 1), size - 3: (1, -4, 6, -4, 0), size - 2: (1, -4, 5, 0, 0)}
    inner, outside = (1, -4, 6, -4, 1), (0, 0, 0, 0, 0)
    rows = [table.get(p, inner if 2 < p < size - 3 else outside) for p in range(size)]
    return [tuple(-FOURTH * weight for weight in row) for row in rows]


class _Place(NamedTuple):
    """What the fluxes at one point are made of."""

    u: list[Value]
    v: list[Value]
    square: Value
    """v v; the kinetic energy per mass is half of it."""
    pressed: Value
    """u4 minus the kinetic energy per volume."""
    enthalpy: Value
    """u4 / u0."""


def _place(load: Callable[[int], Value]) -> _Place:
    u = [load(m) for m in range(5)]
    r = load(RECIPROCAL)
    v = [u[1] * r, u[2] * r, u[3] * r]
    square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
    return _Place(u, v, square, u[4] - square * u[0] * 0.5, u[4] * r)


def right_hand_side(
    load: Callable[[int, int, int], Value],
    weight: Callable[[int, int], Value],
    start: Sequence[Value],
    number: Mapping[str, Value],
) -> list[Value]:
    """Forcing plus L(u) at a point; `load(m, axis, shift)` is component m, shifted along an axis.

    `weight(axis, shift)` is the weight of the dissipation, `start` the forcing, `number` the parameters (BT §5).
    """
    total = list(start)
    centre = _place(lambda m: load(m, 0, 0))
    for axis in range(3):
        low, high = (_place(functools.partial(_shifted, load, axis, by)) for by in (-1, 1))
        _add_fluxes(total, axis, (low, centre, high), number)
        for m in range(5):
            near = (load(m, axis, -2), low.u[m], centre.u[m], high.u[m], load(m, axis, 2))
            for shift, value in enumerate(near, -2):
                total[m] = total[m] + weight(axis, shift) * value
    return total


def _shifted(load: Callable[[int, int, int], Value], axis: int, by: int, m: int) -> Value:
    return load(m, axis, by)


def _add_fluxes(total: list[Value], axis: int, places: tuple[_Place, _Place, _Place], n: Mapping[str, Value]) -> None:
    low, centre, high = places
    normal = 1 + axis

    def second(pick: Callable[[_Place], Value]) -> Value:
        return pick(high) + pick(low) - 2.0 * pick(centre)

    w_low, w_high = low.v[axis], high.v[axis]
    for m in range(5):
        total[m] = total[m] + n[f"d{axis}"] * second(lambda at, m=m: at.u[m])  # type: ignore[misc]
    total[0] = total[0] - n["t2"] * (high.u[normal] - low.u[normal])
    for m in (1, 2, 3):
        viscous = n["con1"] if m == normal else n["con2"]
        total[m] = total[m] + viscous * second(lambda at, m=m: at.v[m - 1])  # type: ignore[misc]
        total[m] = total[m] - n["t2"] * (high.u[m] * w_high - low.u[m] * w_low)
    total[normal] = total[normal] - n["t2c2"] * (high.pressed - low.pressed)
    total[4] = total[4] + n["con3"] * second(lambda at: at.square)
    total[4] = total[4] + n["con4"] * second(lambda at: at.v[axis] * at.v[axis])
    total[4] = total[4] + n["con5"] * second(lambda at: at.enthalpy)
    # (c1 u5 - c2 S) w = u5 w + c2 (u5 - S) w, for c1 = 1 + c2
    total[4] = total[4] - n["t2"] * (high.u[4] * w_high - low.u[4] * w_low)
    total[4] = total[4] - n["t2c2"] * (high.pressed * w_high - low.pressed * w_low)


def line_parameters(spacing: float, dt: float, axis: int) -> dict[str, float]:
    """Numbers that the line solve along an axis needs, by name."""
    t1, t2 = dt / spacing**2, dt / (2 * spacing)
    second = t1 * SECOND[axis]
    return {
        "f": t2,
        "fc2": t2 * C2,
        "fc1": t2 * C1,
        "f2": t2 * (2 - C2),
        "second": second,
        "diagonal": 1 + 2 * second,
        "mn": t1 * NORMAL,
        "mt": t1 * KAPPA,
        "mh": t1 * HEAT,
        "mnh": t1 * (NORMAL - HEAT),
        "mth": t1 * (KAPPA - HEAT),
    }


class _Lined(NamedTuple):
    """A point of a line: reciprocal of density, velocities (normal one first), their square, u5 / u1."""

    r: Value
    v: list[Value]
    square: Value
    enthalpy: Value


def _lined(load: Callable[[int], Value]) -> _Lined:
    r = load(RECIPROCAL)
    v = [load(1) * r, load(2) * r, load(3) * r]
    return _Lined(r, v, v[0] * v[0] + v[1] * v[1] + v[2] * v[2], load(4) * r)


def _inviscid(at: _Lined, n: Mapping[str, Value]) -> Matrix:
    """The product dt t2 F, the normal momentum in position 1 (BT §6)."""
    vn = at.v[0]
    scaled = [n["f"] * one for one in at.v]
    pressure, heat = n["fc2"] * 0.5 * at.square, n["fc1"] * at.enthalpy
    pressed = [n["fc2"] * one for one in at.v]
    return [
        {1: n["f"]},
        {0: pressure - scaled[0] * vn, 1: n["f2"] * vn, 2: -pressed[1], 3: -pressed[2], 4: n["fc2"]},
        {0: -(scaled[1] * vn), 1: scaled[1], 2: scaled[0]},
        {0: -(scaled[2] * vn), 1: scaled[2], 3: scaled[0]},
        {
            0: (pressure + pressure - heat) * vn,
            1: heat - pressure - pressed[0] * vn,
            2: -(pressed[1] * vn),
            3: -(pressed[2] * vn),
            4: n["fc1"] * vn,
        },
    ]


def _viscous(at: _Lined, n: Mapping[str, Value]) -> Matrix:
    """The product dt t1 M, the normal momentum in position 1 (BT §6)."""
    along, across = n["mn"] * at.r, n["mt"] * at.r
    heat = n["mh"] * at.r
    mixed = [n["mnh"] * at.r * at.v[0], n["mth"] * at.r * at.v[1], n["mth"] * at.r * at.v[2]]
    kinetic = mixed[0] * at.v[0] + mixed[1] * at.v[1] + mixed[2] * at.v[2]
    return [
        {},
        {0: -(along * at.v[0]), 1: along},
        {0: -(across * at.v[1]), 2: across},
        {0: -(across * at.v[2]), 3: across},
        {0: -(kinetic + heat * at.enthalpy), 1: mixed[0], 2: mixed[1], 3: mixed[2], 4: heat},
    ]


def _off_diagonal(at: _Lined, n: Mapping[str, Value], sign: int) -> Matrix:
    """A (sign -1) or C (sign +1): sign dt t2 F - dt t1 M - dt t1 d I at a neighbour."""
    viscous = _viscous(at, n)
    found: Matrix = []
    for row, entries in enumerate(_inviscid(at, n)):
        line = {column: entry if sign > 0 else -entry for column, entry in entries.items()}
        for column, entry in viscous[row].items():
            line[column] = line[column] - entry
        line[row] = line[row] - n["second"] if row in line else -n["second"]
        found.append(line)
    return found


def eliminate_row(
    load: Callable[[int, int], Value],
    before: Callable[[int], Value],
    number: Mapping[str, Value],
    rhs: Sequence[Value],
    reciprocal: Callable[[Value], Value],
) -> list[Value]:
    """One row of the forward sweep: the 25 numbers of C' row by row, then the 5 of y (BT §6).

    `load(m, shift)` is component m at the point before (-1), at this one (0) or after it (1), the normal momentum in
    position 1; `before(index)` is what this function returned for the row before.
    """
    low = _off_diagonal(_lined(lambda m: load(m, -1)), number, -1)
    middle = _viscous(_lined(lambda m: load(m, 0)), number)
    block: list[list[Value]] = []
    known: list[Value] = []
    for row in range(5):
        # B' = B - A C', y = rhs - A y
        line: list[Value] = []
        for column in range(5):
            entry = middle[row].get(column)
            value = None if entry is None else entry + entry
            if row == column:
                value = number["diagonal"] if value is None else value + number["diagonal"]
            for inner, factor in low[row].items():
                product = factor * before(5 * inner + column)
                value = -product if value is None else value - product
            line.append(value)
        block.append(line)
        value = rhs[row]
        for inner, factor in low[row].items():
            value = value - factor * before(25 + inner)
        known.append(value)
    high = _off_diagonal(_lined(lambda m: load(m, 1)), number, 1)
    columns = [{row: high[row][column] for row in range(5) if column in high[row]} for column in range(5)]
    columns.append(dict(enumerate(known)))
    solved = _solve(block, columns, reciprocal)
    return [solved[column][row] for row in range(5) for column in range(5)] + solved[5]


def _solve(
    block: list[list[Value]], columns: list[dict[int, Value]], reciprocal: Callable[[Value], Value]
) -> list[list[Value]]:
    """Solve block X = columns by elimination without pivoting; the block is overwritten by its factors."""
    inverse: list[Value] = []
    for pivot in range(5):
        inverse.append(reciprocal(block[pivot][pivot]))
        for row in range(pivot + 1, 5):
            factor = block[row][pivot] = block[row][pivot] * inverse[pivot]
            for column in range(pivot + 1, 5):
                block[row][column] = block[row][column] - factor * block[pivot][column]
    return [_substitute(block, inverse, column) for column in columns]


def _substitute(block: list[list[Value]], inverse: list[Value], given: dict[int, Value]) -> list[Value]:
    found = dict(given)

    def subtract(row: int, inner: int) -> None:
        product = block[row][inner] * found[inner]
        found[row] = found[row] - product if row in found else -product

    for row in range(5):
        for inner in range(row):
            if inner in found:
                subtract(row, inner)
    for row in reversed(range(5)):
        for inner in range(row + 1, 5):
            subtract(row, inner)
        found[row] = found[row] * inverse[row]
    return [found[row] for row in range(5)]


def substitute_row(kept: Callable[[int], Value], after: Sequence[Value]) -> list[Value]:
    """One row of the backward sweep: X = y - C' X(after); `kept(index)` is what the forward sweep left (BT §6)."""
    found = []
    for row in range(5):
        value = kept(25 + row)
        for column in range(5):
            value = value - kept(5 * row + column) * after[column]
        found.append(value)
    return found
