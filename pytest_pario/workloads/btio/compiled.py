"""The compiled member: lays out what the loops of `kernels` need to know of a cell, once, and calls them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pytest_pario.access.loops.compiling import compiled
from pytest_pario.patterns.multipartition import HALO
from pytest_pario.workloads.btio import algebra
from pytest_pario.workloads.btio.classes import COMPONENTS
from pytest_pario.workloads.btio.engine import Range, Workspace
from pytest_pario.workloads.btio.exact import Floats
from pytest_pario.workloads.btio.jobs import CELL, KEPT, LINE, ROW_BYTES, VECTOR_BYTES, WIDTH
from pytest_pario.workloads.btio.storage import CellStorage, aligned, padded

KERNELS = "pytest_pario.workloads.btio.kernels"
NAMES = ("make_rhs", "add_rhs", "invert_density", "sweep_across", "sweep_along")


@functools.cache
def kernels() -> dict[str, Callable[..., None]]:
    """Machine code of all loops; compiled on first use, once per machine."""
    return {name: compiled(name, KERNELS) for name in NAMES}


class CompiledEngine:
    """Eight lines, or eight neighbours of a row, at a time."""

    def __init__(self, storage: CellStorage, workspace: Workspace) -> None:
        """Lay out jobs."""
        self.s, self._run = storage, kernels()
        spacing, dt = 1.0 / (storage.problem.size - 1), storage.problem.dt
        self._numbers = [_array(algebra.rhs_parameters(spacing))]
        self._numbers += [_array(algebra.line_parameters(spacing, dt, axis)) for axis in range(3)]
        self._weights_x = np.zeros((5, storage.row))
        self._weights_x[:, : storage.cell.shape[0]] = storage.weights[0].T
        self._cell = self._cell_job()
        self._entry, self._exit, self._after = (
            [aligned(self._tiles(axis) * vectors * WIDTH, 0.0) for axis in range(3)]
            for vectors in (KEPT, KEPT, COMPONENTS)
        )
        self._lines = [self._line_job(axis, workspace, leaves=False) for axis in range(3)]
        goes_on = [place < workspace.edge - 1 for place in storage.cell.place]
        self._leaving = [self._line_job(axis, workspace, leaves=True) if goes_on[axis] else None for axis in range(3)]

    @property
    def work_bytes(self) -> int:
        """Memory beside the state of the cell."""
        return sum(one.nbytes for one in (*self._entry, *self._exit, *self._after))

    def _chunks(self, axis: int) -> int:
        return padded(self.s.cell.shape[1 if axis == 0 else 0]) // WIDTH

    def _tiles(self, axis: int) -> int:
        first, last = self.outer(axis)
        return (last - first) * self._chunks(axis)

    def _cell_job(self) -> Any:
        s, job = self.s, np.zeros(1, CELL)
        first, last = s.interior(1)
        values = {
            "u": s.u.ctypes.data,
            **dict(zip(("u_component", "u_plane", "u_pitch"), s.u.strides, strict=False)),
            "rhs": s.rhs.ctypes.data,
            **dict(zip(("rhs_component", "rhs_plane", "rhs_pitch"), s.rhs.strides, strict=False)),
            "forcing": s.forcing.ctypes.data,
            "scale": s.scale.ctypes.data,
            "weights_x": self._weights_x.ctypes.data,
            "apart_x": self._weights_x.strides[0],
            "weights_y": s.weights[1].ctypes.data,
            "weights_z": s.weights[2].ctypes.data,
            "numbers": self._numbers[0].ctypes.data,
            "chunks": s.row // WIDTH,
            "first_y": first,
            "last_y": last,
            "ny": s.cell.shape[1],
            "nz": s.cell.shape[2],
        }
        return _filled(job, values)

    def _line_job(self, axis: int, workspace: Workspace, leaves: bool) -> Any:
        s = self.s
        first, last = s.interior(axis)
        # strides are those of component, z, y, x; along the line, outermost across it, and the rows of x lines
        places = dict(zip(("step", "outer", "inner"), ((3, 1, 2), (2, 1, 3), (1, 2, 3))[axis], strict=True))
        momenta = [1 + axis, *(m for m in (1, 2, 3) if m != 1 + axis)]
        values = {
            "u": s.u.ctypes.data,
            "u_component": s.u.strides[0],
            "rhs": s.rhs.ctypes.data,
            "rhs_component": s.rhs.strides[0],
            **{f"u_{name}": s.u.strides[place] for name, place in places.items()},
            **{f"rhs_{name}": s.rhs.strides[place] for name, place in places.items()},
            **dict(zip(("normal", "second", "third"), momenta, strict=True)),
            "chunks": self._chunks(axis),
            "lines": s.cell.shape[1],
            "points": s.cell.shape[0],
            "first": first,
            "last": last,
            "first_outer": self.outer(axis)[0],
            **self._places(axis, workspace, leaves),
            "numbers": self._numbers[1 + axis].ctypes.data,
        }
        return _filled(np.zeros(1, LINE), values)

    def _places(self, axis: int, workspace: Workspace, leaves: bool) -> dict[str, int]:
        """Where rows are kept: eight lines at a time, or those of all lines, whose last ones leave for another rank."""
        longest = -(-self.s.problem.size // workspace.edge)
        turned = workspace.array("turned", (padded(longest) + 2 * WIDTH) * 11 * WIDTH)
        first, last = self.s.interior(axis)
        apart = (last - first - 1) * ROW_BYTES
        if leaves:
            # axes come one after the other, so cells of one slice, whatever the axis, have one memory
            count = longest * padded(longest) * longest
            kept = workspace.array(f"kept in slice {self.s.cell.place[axis]}", count * KEPT).ctypes.data
            ends = {"kept_tile": apart, "exit": self._exit[axis].ctypes.data, "exit_tile": ROW_BYTES}
        else:
            kept = workspace.array("kept", longest * KEPT * WIDTH).ctypes.data
            ends = {"kept_tile": 0, "exit": kept + apart, "exit_tile": 0}
        return {
            "kept": kept,
            **ends,
            "entry": self._entry[axis].ctypes.data,
            "entry_tile": ROW_BYTES,
            "after": self._after[axis].ctypes.data,
            "turned": turned.ctypes.data + WIDTH * 6 * VECTOR_BYTES,
            "turned_rhs": turned.ctypes.data + (padded(longest) + 2 * WIDTH) * 6 * VECTOR_BYTES,
        }

    def invert_density(self) -> None:
        """Halos included."""
        self._run["invert_density"](self._cell, -HALO, self.s.cell.shape[2] + HALO)

    def make_rhs(self, planes: Range | None = None) -> None:
        """Some interior planes, or all."""
        self._run["make_rhs"](self._cell, *(planes or self.s.interior(2)))

    def outer(self, axis: int) -> Range:
        """Interior planes for x and y, interior rows for z."""
        return self.s.interior(1 if axis == 2 else 2)

    def sweep(self, axis: int, outer: Range) -> None:
        """Forward and backward at once, eight lines after eight lines, in cache."""
        first, last = (one - self.outer(axis)[0] for one in outer)
        size = self._chunks(axis) * COMPONENTS * WIDTH
        self._after[axis][first * size : last * size] = 0
        self._sweep(axis)(self._lines[axis], *outer, True, True)

    def _sweep(self, axis: int) -> Callable[..., None]:
        return self._run["sweep_along" if axis == 0 else "sweep_across"]

    def forward(self, axis: int) -> None:
        """All lines; rows are kept for the backward sweep, and fetched ahead of their use: faster than anew from u."""
        self._sweep(axis)(self._leaving[axis], *self.outer(axis), True, False)

    def backward(self, axis: int) -> None:
        """All lines, from the rows that the forward sweep has kept."""
        self._sweep(axis)(self._leaving[axis], *self.outer(axis), False, True)

    def entry(self, axis: int) -> Floats:
        """Thirty vectors of each tile."""
        return self._entry[axis]

    def exit(self, axis: int) -> Floats:
        """Thirty vectors of each tile."""
        return self._exit[axis]

    def after(self, axis: int) -> Floats:
        """Five vectors of each tile."""
        return self._after[axis]

    def add_rhs(self, rows: Range | None = None) -> None:
        """Some rows, or all."""
        self._run["add_rhs"](self._cell, *(rows or (0, self.s.cell.shape[1])))


def _array(numbers: Mapping[str, float]) -> Floats:
    return np.array(list(numbers.values()))


def _filled(job: Any, values: Mapping[str, int]) -> Any:
    for name, value in values.items():
        job[name] = value
    return job
