"""What the ranks of a solver tell each other: halos before each step, rows of lines between cells (BT §11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_pario.patterns.multipartition import Partition
from pytest_pario.workloads.btio.engine import Engine
from pytest_pario.workloads.btio.exact import Floats
from pytest_pario.workloads.btio.storage import CellStorage
from pytest_pario.workloads.btio.waiting import wait_all

if TYPE_CHECKING:
    from mpi4py import MPI

FORWARD, BACKWARD = 100, 200
"""Tags of the sweeps; halos have those of their faces, 0 to 5."""

Work = Callable[[Engine], None]


def nothing(_engine: Engine) -> None:
    """Do nothing to a cell."""


@dataclass(frozen=True, eq=False)
class _Side:
    """One of six sides: what goes to the neighbour there, and what comes from it."""

    neighbour: int
    inside: list[Floats]
    """Layers of this rank's cells that the neighbour needs."""
    outside: list[Floats]
    """Halos that the neighbour fills."""
    leaving: Floats
    arriving: Floats
    tag: int
    """Of what leaves; what arrives has the tag of the opposite side."""

    @property
    def opposite(self) -> int:
        """Tag of what arrives."""
        return self.tag ^ 1


class Messages:
    """Buffers and neighbours of one rank, on a communicator of its own."""

    def __init__(self, comm: MPI.Intracomm, partition: Partition, cells: Sequence[CellStorage]) -> None:
        """Lay out everything that is sent in every step."""
        self.comm, self.partition = comm, partition
        self._sides = [self._side(cells, axis, by) for axis in range(3) for by in (-1, 1)]

    def _side(self, cells: Sequence[CellStorage], axis: int, by: int) -> _Side:
        outermost = 0 if by < 0 else self.partition.edge - 1
        # cells of both ranks are taken in the order of the slices, which they agree on
        order = sorted(range(len(cells)), key=lambda number: cells[number].cell.place[axis])
        touching = [cells[number] for number in order if cells[number].cell.place[axis] != outermost]
        inside = [part for storage in touching for part in _layers(storage.halo(axis, by, outside=False), axis)]
        outside = [part for storage in touching for part in _layers(storage.halo(axis, by, outside=True), axis)]
        sizes = sum(part.size for part in inside), sum(part.size for part in outside)
        neighbour = self.partition.neighbour(axis, by)
        leaving, arriving = np.zeros(sizes[0]), np.zeros(sizes[1])
        return _Side(neighbour, inside, outside, leaving, arriving, 2 * axis + (by > 0))

    def exchange(self) -> None:
        """Fill the halos of all cells; one message to and from each side."""
        requests = [self.comm.Irecv(side.arriving, side.neighbour, side.opposite) for side in self._sides]
        for side in self._sides:
            _gather(side.inside, side.leaving)
            requests.append(self.comm.Isend(side.leaving, side.neighbour, side.tag))
        wait_all(requests)
        for side in self._sides:
            _scatter(side.arriving, side.outside)

    def solve(self, axis: int, engines: Sequence[Engine], before: Work = nothing, after: Work = nothing) -> None:
        """Solve the lines of an axis through all slices: forward, then backward.

        `before` is done to each cell before its first sweep, and `after` after its last one, while messages travel.
        """
        low, high = self.partition.neighbour(axis, -1), self.partition.neighbour(axis, 1)
        mine = [engines[self.partition.in_slice(axis, number)] for number in range(self.partition.edge)]
        *others, last = mine
        coming = [self.comm.Irecv(engine.entry(axis), low, FORWARD) for engine in mine[1:]]
        coming_back = [self.comm.Irecv(engine.after(axis), high, BACKWARD) for engine in reversed(others)]
        sent: list[MPI.Request] = []
        for number, engine in enumerate(others):
            before(engine)
            wait_all(coming[number - 1 : number] if number else [])
            engine.forward(axis)
            sent.append(self.comm.Isend(engine.exit(axis), high, FORWARD))
        before(last)
        wait_all(coming[-1:])
        last.sweep(axis, last.outer(axis))
        solved = last
        for engine, arrival in zip(reversed(others), coming_back, strict=True):
            sent.append(self.comm.Isend(solved.after(axis), low, BACKWARD))
            after(solved)
            wait_all([arrival])
            engine.backward(axis)
            solved = engine
        after(solved)
        wait_all(sent)


def _layers(halo: Floats, axis: int) -> list[Floats]:
    """What is copied at once; along x one layer after the other, because NumPy is slow at rows of two numbers."""
    return [halo[..., :1], halo[..., 1:]] if axis == 0 else [halo]


def _gather(parts: Sequence[Floats], flat: Floats) -> None:
    first = 0
    for part in parts:
        flat[first : first + part.size].reshape(part.shape)[...] = part
        first += part.size


def _scatter(flat: Floats, parts: Sequence[Floats]) -> None:
    first = 0
    for part in parts:
        part[...] = flat[first : first + part.size].reshape(part.shape)
        first += part.size
