"""The solver of one rank: state of its cells, exchange of halos, one time step, norms (BT §5 to §8, §11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pytest_pario.patterns.multipartition import Partition
from pytest_pario.workloads.btio.classes import COMPONENTS, ProblemClass
from pytest_pario.workloads.btio.engine import Engine, Workspace, choose_engine
from pytest_pario.workloads.btio.exact import Floats
from pytest_pario.workloads.btio.storage import CellStorage

if TYPE_CHECKING:
    from mpi4py import MPI

    from pytest_pario.workloads.btio.messages import Messages


class Solver:
    """Steps a problem forward in time on the ranks of a communicator, or alone without one."""

    def __init__(self, problem: ProblemClass, comm: MPI.Intracomm | None = None, engine: str = "auto") -> None:
        """Take memory, compile what is to be compiled, and compute the forcing."""
        self.problem, self.comm = problem, comm
        self.partition = Partition(problem.size, 1 if comm is None else comm.size, 0 if comm is None else comm.rank)
        self.engine_name, make = choose_engine(engine, comm)
        self.cells = [CellStorage(problem, cell) for cell in self.partition.cells]
        alone = self.partition.edge == 1
        self._workspace = Workspace(self.partition.edge)
        self.engines: list[Engine] = [make(storage, self._workspace) for storage in self.cells]
        self._messages = None if alone else self._connect()
        self._make_forcing()

    def _connect(self) -> Messages:
        from pytest_pario.workloads.btio.messages import Messages

        assert self.comm is not None
        return Messages(self.comm, self.partition, self.cells)

    def _make_forcing(self) -> None:
        """F = -L(e) inside, 0 on the boundary."""
        for storage, engine in zip(self.cells, self.engines, strict=True):
            storage.set_exact()
            storage.set_scale(-1.0)
            engine.invert_density()
            engine.make_rhs()
            storage.forcing[...] = storage.rhs
            storage.set_scale(self.problem.dt)

    def start(self) -> None:
        """The initial state."""
        for storage, engine in zip(self.cells, self.engines, strict=True):
            storage.start()
            engine.invert_density()

    def warm_up(self) -> None:
        """One step that leaves no trace, then the initial state: all code has run and all pages are there (BT §7)."""
        self.start()
        self.step()
        self.start()

    def step(self) -> None:
        """One time step."""
        if self._messages is None:
            self._step_alone(self.engines[0])
        else:
            self._step_together(self._messages)

    def _step_alone(self, engine: Engine) -> None:
        """Plane by plane and row by row, so that what one sweep leaves in the cache the next one finds there."""
        ranges = [_singles(engine.outer(axis)) for axis in range(3)]
        if len(ranges[0]) == 1:
            engine.make_rhs()
        for plane in ranges[0]:
            if len(ranges[0]) > 1:
                engine.make_rhs(plane)
            engine.sweep(0, plane)
            engine.sweep(1, plane)
        for row in ranges[2]:
            engine.sweep(2, row)
            if len(ranges[2]) > 1:
                engine.add_rhs(row)
        if len(ranges[2]) == 1:
            engine.add_rhs()

    def _step_together(self, messages: Messages) -> None:
        """Cells are worked on while messages of others travel."""
        self.exchange()
        messages.solve(0, self.engines, before=lambda engine: engine.make_rhs())
        messages.solve(1, self.engines)
        messages.solve(2, self.engines, after=lambda engine: engine.add_rhs())

    def exchange(self) -> None:
        """Bring the halos up to date."""
        if self._messages is not None:
            self._messages.exchange()
            for engine in self.engines:
                engine.invert_density()

    def residual_sums(self) -> Floats:
        """Sums of the squares of the right-hand side over this rank's interior points, divided by dt squared."""
        self.exchange()
        total = np.zeros(COMPONENTS)
        for storage, engine in zip(self.cells, self.engines, strict=True):
            engine.make_rhs()
            total += np.einsum("mkji,mkji->m", storage.rhs, storage.rhs)
            storage.rhs[...] = 0
        return total / self.problem.dt**2

    def pack(self, out: Floats) -> None:
        """Put the state of all cells, component fastest, one after the other (BT §9.1)."""
        for storage, part in self._parts(out):
            for m in range(COMPONENTS):
                part[..., m] = storage.u[m]

    def unpack(self, given: Floats) -> None:
        """Take the state of all cells back."""
        for (storage, part), engine in zip(self._parts(given), self.engines, strict=True):
            for m in range(COMPONENTS):
                storage.u[m] = part[..., m]
            engine.invert_density()

    def void(self) -> None:
        """No number of the state is one: what is not taken back cannot be right (BT §9.4)."""
        for storage in self.cells:
            storage.u[...] = np.nan

    def _parts(self, flat: Floats) -> list[tuple[CellStorage, Floats]]:
        return list(zip(self.cells, cut(flat, self.partition), strict=True))

    @property
    def memory_bytes(self) -> int:
        """Memory of arrays."""
        work = sum(engine.work_bytes for engine in self.engines) + self._workspace.memory_bytes
        return sum(storage.memory_bytes for storage in self.cells) + work


def cut(flat: Floats, partition: Partition) -> list[Floats]:
    """The cells of a rank in its buffer, each of the shape (z, y, x, 5)."""
    parts, first = [], 0
    for cell in partition.cells:
        nx, ny, nz = cell.shape
        last = first + COMPONENTS * cell.points
        parts.append(flat[first:last].reshape(nz, ny, nx, COMPONENTS))
        first = last
    return parts


def norms(sums: Sequence[float] | Floats, problem: ProblemClass) -> Floats:
    """Norms from sums of squares of all points (BT §8)."""
    found: Floats = np.sqrt(np.asarray(sums) / problem.interior)
    return found


def _singles(whole: tuple[int, int]) -> list[tuple[int, int]]:
    return [(one, one + 1) for one in range(*whole)]
