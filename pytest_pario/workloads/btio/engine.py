"""What computes the steps of a cell: a protocol, the NumPy member, and the choice between the members there are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pytest_pario.access.loops.compiling import numba_missing_reason
from pytest_pario.errors import ParameterError
from pytest_pario.patterns.multipartition import HALO
from pytest_pario.workloads.btio import algebra
from pytest_pario.workloads.btio.classes import COMPONENTS
from pytest_pario.workloads.btio.exact import Floats
from pytest_pario.workloads.btio.jobs import KEPT, WIDTH
from pytest_pario.workloads.btio.storage import CellStorage, aligned

if TYPE_CHECKING:
    from mpi4py import MPI

Range = tuple[int, int]
NAMES = ("compiled", "numpy")
"""Members, the best first."""


class Engine(Protocol):
    """Works on the storage of one cell; lines cross several cells, so that what crosses a face is handed over."""

    @property
    def work_bytes(self) -> int:
        """Memory beside the state of the cell."""

    def invert_density(self) -> None:
        """Bring the reciprocal of the density up to date, halos included."""

    def make_rhs(self, planes: Range | None = None) -> None:
        """The right-hand side of some interior planes, or of all."""

    def outer(self, axis: int) -> Range:
        """The planes (rows for z) across which the lines of an axis are counted."""

    def sweep(self, axis: int, outer: Range) -> None:
        """Both sweeps of lines that end in this cell; `entry` holds the last row of the cell before, or zeros."""

    def forward(self, axis: int) -> None:
        """The forward sweep of lines that go on in another cell; `entry` as above."""

    def backward(self, axis: int) -> None:
        """The backward sweep; `after` holds the first row of the cell after, and then that of this one."""

    def entry(self, axis: int) -> Floats:
        """Where the last row of the cell before is put; zeros where there is none."""

    def exit(self, axis: int) -> Floats:
        """The last row of this cell, after the forward sweep; contiguous, as are the others."""

    def after(self, axis: int) -> Floats:
        """The first row of the cell after, contiguous; after the backward sweep that of this cell."""

    def add_rhs(self, rows: Range | None = None) -> None:
        """Take a step in some rows, or in all."""


class Workspace:
    """Memory in which the lines at work are kept, shared by the cells of a rank."""

    def __init__(self, edge: int) -> None:
        """Nothing is taken before it is asked for."""
        self.edge, self._arrays = edge, dict[str, Floats]()

    def array(self, name: str, count: int) -> Floats:
        """The array of a name; its pages are there, so that nobody pays for them under the clock."""
        if name not in self._arrays:
            self._arrays[name] = aligned(count, 1.0)
        return self._arrays[name]

    @property
    def memory_bytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self._arrays.values())


Maker = Callable[[CellStorage, Workspace], Engine]
"""Makes an engine for a cell."""


def choose_engine(preference: str = "auto", comm: MPI.Intracomm | None = None) -> tuple[str, Maker]:
    """The member that was asked for, or the first that works on every rank; its name and how it is made."""
    if preference not in ("auto", *NAMES):
        raise ParameterError("engine", preference, f"auto or one of {', '.join(NAMES)}")
    reason = None if preference == "numpy" else numba_missing_reason()
    reasons = [reason] if comm is None else comm.allgather(reason)
    told = next((one for one in reasons if one is not None), None)
    if preference == "compiled" and told is not None:
        raise ParameterError("engine", preference, f"auto or numpy here: {told}")
    if preference == "numpy" or told is not None:
        return "numpy", NumpyEngine
    from pytest_pario.workloads.btio.compiled import CompiledEngine

    return "compiled", CompiledEngine


class NumpyEngine:
    """Whole arrays at a time; right where no compiler is, and what the compiled member is compared with."""

    def __init__(self, storage: CellStorage, _workspace: Workspace) -> None:
        """Work on a cell."""
        self.s = storage
        spacing = 1.0 / (storage.problem.size - 1)
        self._rhs_numbers = algebra.rhs_parameters(spacing)
        self._line_numbers = [algebra.line_parameters(spacing, storage.problem.dt, axis) for axis in range(3)]
        self._kept: Floats = np.empty(0)
        self._kept_axis: int | None = None
        self._after: dict[int, Floats] = {}

    @property
    def work_bytes(self) -> int:
        """What the sweeps have kept so far."""
        return self._kept.nbytes + sum(array.nbytes for array in self._after.values())

    def invert_density(self) -> None:
        """All at once."""
        np.divide(1.0, self.s.u_memory[0], out=self.s.u_memory[algebra.RECIPROCAL])

    def make_rhs(self, planes: Range | None = None) -> None:
        """Some planes at once, one after the other in cache."""
        first, last = planes or self.s.interior(2)
        for k in range(first, last):
            self._rhs_plane(k)

    def _rhs_plane(self, k: int) -> None:
        nx, (first, last) = self.s.cell.shape[0], self.s.interior(1)

        def load(m: int, axis: int, shift: int) -> Floats:
            x, y, z = (shift if axis == one else 0 for one in range(3))
            rows = slice(HALO + first + y, HALO + last + y)
            return self.s.u_memory[m, HALO + k + z, rows, WIDTH + x : WIDTH + x + nx]

        def weight(axis: int, shift: int) -> Any:
            table = self.s.weights[axis][:, shift + 2]
            return (table[None, :], table[first:last, None], table[k])[axis]

        found = algebra.right_hand_side(load, weight, list(self.s.forcing[:, k, first:last]), self._rhs_numbers)
        for m in range(COMPONENTS):
            self.s.rhs[m, k, first:last] = found[m] * self.s.scale[:nx]

    def outer(self, axis: int) -> Range:
        """Here all lines are one."""
        return (0, 1)

    def sweep(self, axis: int, outer: Range) -> None:
        """Forward, then backward."""
        self.after(axis)[...] = 0
        self.forward(axis)
        self.backward(axis)

    def _lines(self, axis: int, array: Floats, halo: int) -> Floats:
        """Components in the order of the axis, then points of a line, then interior lines; halo points at the ends."""
        order = [0, 1 + axis, *(m for m in (1, 2, 3) if m != 1 + axis), *range(4, len(array))]
        starts = (WIDTH, HALO, HALO) if halo else (0, 0, 0)
        cuts: list[slice] = []
        for other in (2, 1, 0):
            first, last = self.s.interior(other)
            more = halo if other == axis else 0
            cuts.append(slice(starts[other] + first - more, starts[other] + last + more))
        return np.moveaxis(array[(slice(None), *cuts)], 3 - axis, 1)[order]

    def _shape(self, axis: int) -> tuple[int, ...]:
        spans = [last - first for first, last in map(self.s.interior, (2, 1, 0))]
        rows = spans.pop(2 - axis)
        return rows + 1, KEPT, *spans

    def _rows(self, axis: int) -> Floats:
        """Rows of the axis at work; axes come one after the other, so one memory serves all of them."""
        shape = self._shape(axis)
        if not self._kept.size:
            self._kept = np.empty(max(math.prod(self._shape(one)) for one in range(3)))
        rows = self._kept[: math.prod(shape)].reshape(shape)
        if axis != self._kept_axis:
            self._kept_axis = axis
            rows[0] = 0
        return rows

    def forward(self, axis: int) -> None:
        """Row by row, all lines at once."""
        kept, numbers = self._rows(axis), self._line_numbers[axis]
        u, rhs = self._lines(axis, self.s.u_memory, 1), self._lines(axis, self.s.rhs, 0)
        for row in range(1, len(kept)):
            found = algebra.eliminate_row(
                lambda m, shift, row=row: u[m, row + shift],  # type: ignore[misc]
                kept[row - 1].__getitem__,
                numbers,
                list(rhs[:, row - 1]),
                lambda value: 1.0 / value,
            )
            for index, value in enumerate(found):
                kept[row, index] = value

    def backward(self, axis: int) -> None:
        """Row by row from the end."""
        kept, after = self._rows(axis), self.after(axis)
        order = [0, 1 + axis, *(m for m in (1, 2, 3) if m != 1 + axis), 4]
        cuts = [slice(*self.s.interior(other)) for other in (2, 1, 0)]
        first = self.s.interior(axis)[0]
        for row in range(len(kept) - 1, 0, -1):
            found = algebra.substitute_row(kept[row].__getitem__, list(after.copy()))
            place: list[Any] = list(cuts)
            place[2 - axis] = first + row - 1
            for m, value in zip(order, found, strict=True):
                self.s.rhs[(m, *place)] = value
            after[...] = found

    def entry(self, axis: int) -> Floats:
        """Row 0."""
        row: Floats = self._rows(axis)[0]
        return row

    def exit(self, axis: int) -> Floats:
        """The last row."""
        row: Floats = self._rows(axis)[-1]
        return row

    def after(self, axis: int) -> Floats:
        """Five numbers of each line."""
        if axis not in self._after:
            self._after[axis] = np.zeros((COMPONENTS, *self._shape(axis)[2:]))
        return self._after[axis]

    def add_rhs(self, rows: Range | None = None) -> None:
        """All at once; boundaries have 0 to add."""
        self.s.u[:COMPONENTS] += self.s.rhs
        np.divide(1.0, self.s.u[0], out=self.s.u[algebra.RECIPROCAL])
