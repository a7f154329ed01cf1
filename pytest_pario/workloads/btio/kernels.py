"""The loops over a cell that are compiled; what they do to eight points at a time is in `lanes`.

Importing this module imports numba. All functions take records of `jobs` in arrays of one, and the range of planes (or
of whatever lies outermost) to work on.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from pytest_pario.workloads.btio.jobs import CELL, LINE, ROW_BYTES, VECTOR_BYTES, WIDTH
from pytest_pario.workloads.btio.lanes import (
    add_eight,
    eliminate_eight,
    extending,
    invert_eight,
    numba,
    rhs_of_eight,
    substitute_eight,
    turn_in_eight,
    turn_out_eight,
)

STENCIL_BYTES = 5 * 8
U_POINT, RHS_POINT = 6 * VECTOR_BYTES, 5 * VECTOR_BYTES
"""Bytes of a point of eight lines where x lines are turned."""


def make_rhs(cells: Any, first: int, last: int) -> None:
    """The right-hand side of planes first to last - 1, which are interior."""
    c = cells[0]
    for k in range(first, last):
        for j in range(c.first_y, c.last_y):
            for chunk in range(c.chunks):
                x = chunk * VECTOR_BYTES
                place = k * c.rhs_plane + j * c.rhs_pitch + x
                rhs_of_eight(
                    (
                        c.u + k * c.u_plane + j * c.u_pitch + x,
                        c.u_component,
                        c.u_pitch,
                        c.u_plane,
                        c.forcing + place,
                        c.rhs + place,
                        c.rhs_component,
                        c.weights_x + x,
                        c.apart_x,
                        c.weights_y + j * STENCIL_BYTES,
                        c.weights_z + k * STENCIL_BYTES,
                        c.scale + x,
                        c.numbers,
                    )
                )


def add_rhs(cells: Any, first: int, last: int) -> None:
    """Take a step in rows first to last - 1 of all planes, and keep the reciprocal of the density up to date."""
    c = cells[0]
    for j in range(first, last):
        for k in range(c.nz):
            for chunk in range(c.chunks):
                x = chunk * VECTOR_BYTES
                add_eight(
                    (
                        c.u + k * c.u_plane + j * c.u_pitch + x,
                        c.u_component,
                        c.rhs + k * c.rhs_plane + j * c.rhs_pitch + x,
                        c.rhs_component,
                    )
                )


def invert_density(cells: Any, first: int, last: int) -> None:
    """The reciprocal of the density in planes first to last - 1, halos included."""
    c = cells[0]
    for k in range(first, last):
        for j in range(-2, c.ny + 2):
            for chunk in range(-1, c.chunks + 1):
                invert_eight((c.u + k * c.u_plane + j * c.u_pitch + chunk * VECTOR_BYTES, c.u_component))


def _kept(t: Any, tile: int, p: int) -> int:
    """Where row p of eight lines is kept."""
    if p < t.first:
        return t.entry + tile * t.entry_tile  # type: ignore[no-any-return]
    if p == t.last - 1:
        return t.exit + tile * t.exit_tile  # type: ignore[no-any-return]
    return t.kept + tile * t.kept_tile + (p - t.first) * ROW_BYTES  # type: ignore[no-any-return]


def _forward(  # noqa: PLR0917 - compiled code takes no keywords
    t: Any, tile: int, u: int, component: int, step: int, rhs: int, apart: int, rhs_step: int
) -> None:
    """The forward sweep of eight lines."""
    for p in range(t.first, t.last):
        eliminate_eight(
            (
                u + p * step,
                component,
                step,
                t.normal * component,
                t.second * component,
                t.third * component,
                rhs + p * rhs_step,
                t.normal * apart,
                t.second * apart,
                t.third * apart,
                4 * apart,
                _kept(t, tile, p - 1),
                _kept(t, tile, p),
                t.numbers,
            )
        )


def _backward(t: Any, tile: int, rhs: int, apart: int, rhs_step: int) -> None:
    """The backward sweep of eight lines."""
    for p in range(t.last - 1, t.first - 1, -1):
        substitute_eight(
            (
                _kept(t, tile, p),
                t.after + tile * RHS_POINT,
                rhs + p * rhs_step,
                t.normal * apart,
                t.second * apart,
                t.third * apart,
                4 * apart,
            )
        )


def sweep_across(lines: Any, first: int, last: int, forward: bool, backward: bool) -> None:
    """Solve along y or z: eight lines are eight neighbours in x."""
    t = lines[0]
    for outer in range(first, last):
        for chunk in range(t.chunks):
            tile = (outer - t.first_outer) * t.chunks + chunk
            u = t.u + outer * t.u_outer + chunk * VECTOR_BYTES
            rhs = t.rhs + outer * t.rhs_outer + chunk * VECTOR_BYTES
            if forward:
                _forward(t, tile, u, t.u_component, t.u_step, rhs, t.rhs_component, t.rhs_step)
            if backward:
                _backward(t, tile, rhs, t.rhs_component, t.rhs_step)


def sweep_along(lines: Any, first: int, last: int, forward: bool, backward: bool) -> None:
    """Solve along x: eight lines are eight neighbours in y, turned so that they lie side by side."""
    t = lines[0]
    for outer in range(first, last):
        for chunk in range(t.chunks):
            tile = (outer - t.first_outer) * t.chunks + chunk
            row = chunk * WIDTH
            rhs = t.rhs + outer * t.rhs_outer + row * t.rhs_inner
            left = t.lines - 1 - row
            # boundary points are turned back too, so they must be here in the backward sweep as well
            for m in range(5):
                for i in range(0, t.points, WIDTH):
                    place = rhs + m * t.rhs_component + i * 8
                    turn_in_eight(
                        (place, t.rhs_inner, left, t.turned_rhs + i * RHS_POINT + m * VECTOR_BYTES, RHS_POINT)
                    )
            if forward:
                u = t.u + outer * t.u_outer + row * t.u_inner
                for m in range(6):
                    for i in range(-1, t.points + 1, WIDTH):
                        place = u + m * t.u_component + i * 8
                        turn_in_eight((place, t.u_inner, left, t.turned + i * U_POINT + m * VECTOR_BYTES, U_POINT))
                _forward(t, tile, t.turned, VECTOR_BYTES, U_POINT, t.turned_rhs, VECTOR_BYTES, RHS_POINT)
            if backward:
                _backward(t, tile, t.turned_rhs, VECTOR_BYTES, RHS_POINT)
                for m in range(5):
                    for i in range(0, t.points, WIDTH):
                        place = rhs + m * t.rhs_component + i * 8
                        turned = t.turned_rhs + i * RHS_POINT + m * VECTOR_BYTES
                        turn_out_eight((turned, RHS_POINT, place, t.rhs_inner, left))


extending.register_jitable(_kept)
extending.register_jitable(_forward)
extending.register_jitable(_backward)


def _signatures() -> dict[str, Any]:
    kinds = numba.types
    cells, lines = (kinds.Array(numba.from_dtype(dtype), 1, "C") for dtype in (CELL, LINE))
    number, flag = kinds.int64, kinds.boolean
    return {
        **{name: kinds.void(cells, number, number) for name in ("make_rhs", "add_rhs", "invert_density")},
        **{name: kinds.void(lines, number, number, flag, flag) for name in ("sweep_across", "sweep_along")},
    }


SIGNATURES = _signatures()
"""The one signature of each kernel: with a single one the cache cannot mix them up."""


def _digest() -> str:
    """Of all files that the machine code is made from."""
    sources = (Path(__file__).with_name(f"{name}.py").read_bytes() for name in ("algebra", "jobs", "kernels", "lanes"))
    return "btio-" + hashlib.sha256(b"".join(sources)).hexdigest()[:16]


GENERATION = _digest()
