"""The numbers of one cell in memory: component by component, rows in whole vectors, halos around u."""

from __future__ import annotations

import numpy as np

from pytest_pario.patterns.multipartition import HALO, Cell
from pytest_pario.workloads.btio.algebra import STORED, dissipation
from pytest_pario.workloads.btio.classes import COMPONENTS, ProblemClass
from pytest_pario.workloads.btio.exact import Floats, exact_solution, initial_plane
from pytest_pario.workloads.btio.jobs import WIDTH


def padded(count: int) -> int:
    """Up to whole vectors."""
    return -(-count // WIDTH) * WIDTH


def spread_lines(count: int) -> int:
    """An odd number of vectors: planes then fall on all sets of a cache."""
    return count if count // WIDTH % 2 else count + WIDTH


class CellStorage:
    """State, right-hand side and forcing of a cell; arrays have the shape (component, z, y, x)."""

    def __init__(self, problem: ProblemClass, cell: Cell) -> None:
        """Take memory for a cell; halos and padding hold numbers that are harmless in every formula."""
        self.problem, self.cell = problem, cell
        nx, ny, nz = cell.shape
        self.row = padded(nx)
        self.u_memory = _component_major(STORED, nz + 2 * HALO, ny + 2 * HALO, self.row + 2 * WIDTH, fill=1.0)
        self.rhs_memory = _component_major(COMPONENTS, nz, ny, self.row, fill=0.0)
        self.forcing_memory = _component_major(COMPONENTS, nz, ny, self.row, fill=0.0)
        self.u = self.u_memory[:, HALO : HALO + nz, HALO : HALO + ny, WIDTH : WIDTH + nx]
        self.rhs, self.forcing = self.rhs_memory[..., :nx], self.forcing_memory[..., :nx]
        self.weights = [self._weights(axis) for axis in range(3)]
        self.scale = np.zeros(self.row)
        """dt, and 0 on boundaries and in padding."""
        self.set_scale(problem.dt)

    def _weights(self, axis: int) -> Floats:
        """Weights of the dissipation at each index of the cell, shape (points, 5)."""
        first, count = self.cell.starts[axis], self.cell.shape[axis]
        return np.array(dissipation(self.problem.size)[first : first + count])

    def interior(self, axis: int) -> tuple[int, int]:
        """First index, and the one after the last, that is no boundary of the grid."""
        first, count = self.cell.starts[axis], self.cell.shape[axis]
        return int(first == 0), count - int(first + count == self.problem.size)

    def set_scale(self, factor: float) -> None:
        """What the right-hand side is multiplied by."""
        first, last = self.interior(0)
        self.scale[:] = 0
        self.scale[first:last] = factor

    def halo(self, axis: int, side: int, *, outside: bool) -> Floats:
        """The two layers at a face, of this cell or just outside it, shape (5, …)."""
        cuts = [slice(HALO, HALO + self.cell.shape[2]), slice(HALO, HALO + self.cell.shape[1])]
        cuts.append(slice(WIDTH, WIDTH + self.cell.shape[0]))
        place = cuts[2 - axis]
        edge = place.start if side < 0 else place.stop
        inward = side < 0
        cuts[2 - axis] = slice(edge - HALO, edge) if outside == inward else slice(edge, edge + HALO)
        return self.u_memory[(slice(COMPONENTS), *cuts)]

    def start(self) -> None:
        """Set the initial state."""
        exact = exact_solution(self.problem.size)
        (x, y, z), (nx, ny, nz) = self.cell.starts, self.cell.shape
        for k in range(nz):
            plane = initial_plane(exact, z + k, slice(y, y + ny), slice(x, x + nx))
            self.u[:COMPONENTS, k] = np.moveaxis(plane, 2, 0)

    def set_exact(self) -> None:
        """Set the exact solution, in the halos too as far as the grid reaches."""
        exact, size = exact_solution(self.problem.size), self.problem.size
        ranges = [
            (max(first - HALO, 0), min(first + count + HALO, size))
            for first, count in zip(self.cell.starts, self.cell.shape, strict=True)
        ]
        part = exact.part([first for first, _ in ranges], [last - first for first, last in ranges])
        offsets = [first - start for (first, _), start in zip(ranges, self.cell.starts, strict=True)]
        x, y = WIDTH + offsets[0], HALO + offsets[1]
        for k in range(len(part.z)):
            target = self.u_memory[:COMPONENTS, HALO + offsets[2] + k, y : y + len(part.y), x : x + len(part.x)]
            target[...] = np.moveaxis(part.plane(k), 2, 0)

    @property
    def memory_bytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.u_memory, self.rhs_memory, self.forcing_memory)
        return sum(len(array) * array.strides[0] for array in arrays)


def aligned(count: int, fill: float) -> Floats:
    """Doubles that begin at a whole vector."""
    raw = np.full(count + WIDTH, fill)
    first = -(raw.ctypes.data // 8) % WIDTH
    return raw[first : first + count]


def _component_major(components: int, nz: int, ny: int, row: int, *, fill: float) -> Floats:
    """An array whose planes and components are an odd number of vectors apart."""
    plane = spread_lines(ny * row)
    component = spread_lines(nz * plane)
    flat = aligned(components * component, fill)
    strides = (8 * component, 8 * plane, 8 * row, 8)
    return np.lib.stride_tricks.as_strided(flat, (components, nz, ny, row), strides)
