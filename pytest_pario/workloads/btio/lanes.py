"""Vector code from `algebra`: eight grid lines, or eight neighbours of a row, in one register.

A value of the class `Lanes` is a vector in LLVM's language; arithmetic with it emits instructions. What is emitted is
straight-line code on vectors of eight doubles, whatever the compiler thinks of loops: no remainder loop exists, so that
every point is computed by the same instructions on any number of ranks. Importing this module imports numba.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from pytest_pario.workloads.btio import algebra
from pytest_pario.workloads.btio.jobs import KEPT, VECTOR_BYTES, WIDTH

numba: Any = importlib.import_module("numba")
extending: Any = importlib.import_module("numba.extending")
cgutils: Any = importlib.import_module("numba.core.cgutils")
ir: Any = importlib.import_module("llvmlite.ir")

DOUBLE, INDEX, SELECTOR = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
VECTOR = ir.VectorType(DOUBLE, WIDTH)
FUSED = ("contract",)
"""A product and a sum may become one instruction; nothing else may be moved."""


class Lanes:
    """A vector that is being computed; numbers beside it are the same in every lane."""

    def __init__(self, builder: Any, value: Any) -> None:
        """Wrap a vector of a function that is being built."""
        self.builder, self.value = builder, value

    def _with(self, operation: str, left: Any, right: Any) -> Lanes:
        return Lanes(self.builder, getattr(self.builder, operation)(left, right, flags=FUSED))

    def _value(self, other: Lanes | float) -> Any:
        return other.value if isinstance(other, Lanes) else ir.Constant(VECTOR, [float(other)] * WIDTH)

    def __add__(self, other: Lanes | float) -> Lanes:
        return self._with("fadd", self.value, self._value(other))

    def __sub__(self, other: Lanes | float) -> Lanes:
        return self._with("fsub", self.value, self._value(other))

    def __mul__(self, other: Lanes | float) -> Lanes:
        return self._with("fmul", self.value, self._value(other))

    def __rmul__(self, other: float) -> Lanes:
        return self._with("fmul", self._value(other), self.value)

    def __neg__(self) -> Lanes:
        return Lanes(self.builder, self.builder.fneg(self.value, flags=FUSED))

    def reciprocal(self) -> Lanes:
        """1 / x, correctly rounded."""
        return Lanes(self.builder, self.builder.fdiv(self._value(1.0), self.value))


class Writer:
    """Memory of a function that is being built; addresses are integers, distances may be known or computed."""

    def __init__(self, builder: Any) -> None:
        """Write into the function of this builder."""
        self.builder = builder

    def at(self, address: Any, distance: Any) -> Any:
        """The address so many bytes further on."""
        return self.builder.add(address, INDEX(distance) if isinstance(distance, int) else distance)

    def times(self, count: int, distance: Any) -> Any:
        """A multiple of a distance in bytes."""
        return self.builder.mul(INDEX(count), distance)

    def load(self, address: Any, align: int = 8) -> Lanes:
        """Eight doubles."""
        pointer = self.builder.inttoptr(address, VECTOR.as_pointer())
        return Lanes(self.builder, self.builder.load(pointer, align=align, typ=VECTOR))

    def store(self, value: Lanes, address: Any, align: int = 8) -> None:
        """Eight doubles."""
        self.builder.store(value.value, self.builder.inttoptr(address, VECTOR.as_pointer()), align=align)

    def prefetch(self, row: Any, vectors: int, ahead: int, *, writes: bool) -> None:
        """Bring a row of so many vectors, some rows ahead of this one, into the cache; it need not exist."""
        byte, flag = ir.IntType(8).as_pointer(), SELECTOR
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        fetch = cgutils.get_or_insert_function(self.builder.module, kind, "llvm.prefetch.p0")
        for index in range(vectors):
            place = self.at(row, VECTOR_BYTES * (ahead * vectors + index))
            # to read or to write, into the nearest cache, data
            self.builder.call(fetch, [self.builder.inttoptr(place, byte), flag(int(writes)), flag(3), flag(1)])

    def spread(self, address: Any) -> Lanes:
        """One double in all lanes."""
        pointer = self.builder.inttoptr(address, DOUBLE.as_pointer())
        one = self.builder.insert_element(
            ir.Constant(VECTOR, ir.Undefined), self.builder.load(pointer, typ=DOUBLE), SELECTOR(0)
        )
        zeros = ir.Constant(ir.VectorType(SELECTOR, WIDTH), [0] * WIDTH)
        return Lanes(self.builder, self.builder.shuffle_vector(one, ir.Constant(VECTOR, ir.Undefined), zeros))

    def numbers(self, names: Sequence[str], address: Any) -> dict[str, Lanes]:
        """Parameters by name, from an array in the order of their names."""
        return {name: self.spread(self.at(address, 8 * place)) for place, name in enumerate(names)}

    def shuffle(self, left: Lanes, right: Lanes, order: Sequence[int]) -> Lanes:
        """Lanes of two vectors in a new order."""
        mask = ir.Constant(ir.VectorType(SELECTOR, WIDTH), list(order))
        return Lanes(self.builder, self.builder.shuffle_vector(left.value, right.value, mask))


def operation(emit: Callable[..., None]) -> Any:
    """An operation for compiled code, `name((arguments …))`: addresses, distances and indices, all integers."""

    def resolve(_context: Any, arguments: Any) -> tuple[Any, Callable[..., Any]]:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            count = len(signature.args[0].types)
            emit(Writer(builder), *cgutils.unpack_tuple(builder, values[0], count))
            return context.get_dummy_value()

        return numba.types.void(arguments), generate

    resolve.__name__ = emit.__name__
    return extending.intrinsic(resolve)


RHS_NAMES = tuple(algebra.rhs_parameters(1.0))
LINE_NAMES = tuple(algebra.line_parameters(1.0, 1.0, 0))


@operation
def rhs_of_eight(w: Writer, u: Any, component: Any, pitch: Any, plane: Any, *more: Any) -> None:
    """Write scale * (forcing + L(u)) of eight neighbours in x.

    `component`, `pitch` and `plane` are the distances of components, rows and planes of u. Then come forcing, result
    and the distance of their components; the weights of the dissipation along x and their distance, the weights along
    y and along z; the factors of the eight points, and the parameters.
    """
    forcing, out, apart, weights_x, apart_x, weights_y, weights_z, scale, numbers = more
    distances = (INDEX(8), pitch, plane)

    @functools.cache
    def load(m: int, axis: int, shift: int) -> Lanes:
        return w.load(w.at(w.at(u, w.times(m, component)), w.times(shift, distances[axis])))

    @functools.cache
    def weight(axis: int, shift: int) -> Lanes:
        if axis == 0:
            return w.load(w.at(weights_x, w.times(shift + 2, apart_x)))
        return w.spread(w.at(weights_y if axis == 1 else weights_z, 8 * (shift + 2)))

    start = [w.load(w.at(forcing, w.times(m, apart))) for m in range(5)]
    found = algebra.right_hand_side(
        lambda m, axis, shift: load(m, axis if shift else 0, shift), weight, start, w.numbers(RHS_NAMES, numbers)
    )
    factor = w.load(scale)
    for m in range(5):
        w.store(found[m] * factor, w.at(out, w.times(m, apart)))


@operation
def eliminate_eight(w: Writer, u: Any, component: Any, step: Any, normal: Any, *more: Any) -> None:
    """One row of the forward sweep of eight lines.

    `normal`, and the next two, are the distances of the momenta, the normal one first. Then come the right-hand side,
    the distances of its components 1 to 4 in that order, where the row before was kept, where to keep this one, and
    the parameters.
    """
    second, third, rhs, *places, last_kept, kept, numbers = more
    offsets = (INDEX(0), normal, second, third, w.times(4, component), w.times(algebra.RECIPROCAL, component))

    @functools.cache
    def load(m: int, shift: int) -> Lanes:
        return w.load(w.at(w.at(u, offsets[m]), w.times(shift, step)))

    @functools.cache
    def before(index: int) -> Lanes:
        return w.load(w.at(last_kept, VECTOR_BYTES * index), VECTOR_BYTES)

    w.prefetch(kept, KEPT, 1, writes=True)
    given = [w.load(rhs), *(w.load(w.at(rhs, place)) for place in places)]
    found = algebra.eliminate_row(load, before, w.numbers(LINE_NAMES, numbers), given, Lanes.reciprocal)
    for index, value in enumerate(found):
        w.store(value, w.at(kept, VECTOR_BYTES * index), VECTOR_BYTES)


@operation
def substitute_eight(w: Writer, kept: Any, after: Any, rhs: Any, *places: Any) -> None:
    """One row of the backward sweep of eight lines; the result of the row after is at `after`, five vectors."""
    w.prefetch(kept, KEPT, -3, writes=False)
    known = [w.load(w.at(after, VECTOR_BYTES * m), VECTOR_BYTES) for m in range(5)]
    found = algebra.substitute_row(lambda index: w.load(w.at(kept, VECTOR_BYTES * index), VECTOR_BYTES), known)
    for value, place in zip(found, (INDEX(0), *places), strict=True):
        w.store(value, w.at(rhs, place))
    for m, value in enumerate(found):
        w.store(value, w.at(after, VECTOR_BYTES * m), VECTOR_BYTES)


@operation
def add_eight(w: Writer, u: Any, component: Any, rhs: Any, apart: Any) -> None:
    """Take a step: u := u + rhs of eight neighbours, and the reciprocal of the new density."""
    moved = [w.load(w.at(u, w.times(m, component))) + w.load(w.at(rhs, w.times(m, apart))) for m in range(5)]
    for m, value in enumerate([*moved, moved[0].reciprocal()]):
        w.store(value, w.at(u, w.times(m, component)))


@operation
def invert_eight(w: Writer, u: Any, component: Any) -> None:
    """The reciprocal of the density of eight neighbours."""
    w.store(w.load(u).reciprocal(), w.at(u, w.times(algebra.RECIPROCAL, component)))


@operation
def turn_in_eight(w: Writer, rows: Any, pitch: Any, last: Any, *turned: Any) -> None:
    """Turn eight rows of eight: lane l of vector i is number i of row l; rows after the last repeat it."""
    out, step = turned
    vectors = [w.load(w.at(rows, _row(w, lane, last, pitch))) for lane in range(WIDTH)]
    for lane, vector in enumerate(transposed(w, vectors)):
        w.store(vector, w.at(out, w.times(lane, step)))


@operation
def turn_out_eight(w: Writer, vectors: Any, step: Any, rows: Any, *more: Any) -> None:
    """The way back; rows after the last are equal to it and are written over each other."""
    pitch, last = more
    given = [w.load(w.at(vectors, w.times(lane, step))) for lane in range(WIDTH)]
    for lane, vector in enumerate(transposed(w, given)):
        w.store(vector, w.at(rows, _row(w, lane, last, pitch)))


def _row(w: Writer, lane: int, last: Any, pitch: Any) -> Any:
    is_inside = w.builder.icmp_signed("<=", INDEX(lane), last)
    return w.builder.mul(w.builder.select(is_inside, INDEX(lane), last), pitch)


def transposed(w: Writer, vectors: Sequence[Lanes]) -> list[Lanes]:
    """Transpose eight vectors of eight lanes: three rounds of exchanges between vectors 1, 2 and 4 apart."""
    rows = list(vectors)
    for apart in (1, 2, 4):
        low = [lane if not lane & apart else WIDTH + lane - apart for lane in range(WIDTH)]
        high = [lane + apart if not lane & apart else WIDTH + lane for lane in range(WIDTH)]
        for first in (row for row in range(WIDTH) if not row & apart):
            one, other = rows[first], rows[first + apart]
            rows[first], rows[first + apart] = w.shuffle(one, other, low), w.shuffle(one, other, high)
    return rows
