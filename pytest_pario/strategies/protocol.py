"""What a strategy is, what it moves, and what it moves it to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from pytest_pario.model import Int64
from pytest_pario.patterns.payload import allocate
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.strategies.runs import Runs

if TYPE_CHECKING:
    from mpi4py import MPI


class Pending(Protocol):
    """A transfer that has been asked for."""

    def wait(self) -> int:
        """Bytes that it moved, when it has ended; raises its error."""


class File(Protocol):
    """Where bytes go to and come from, by one rank at a time."""

    def write_at(self, offset: int, data: Bytes) -> int:
        """Write all of `data`; returns the bytes that were written."""

    def read_at(self, offset: int, out: Bytes) -> int:
        """Fill `out`; returns the bytes that were read, less at the end of the file."""

    def start_write(self, offset: int, data: Bytes) -> Pending:
        """Ask for a write and go on."""

    def start_read(self, offset: int, out: Bytes) -> Pending:
        """Ask for a read and go on."""

    def start_list(self, runs: Runs, data: Bytes, *, writes: bool) -> Pending | None:
        """Ask for all runs by one request and go on; None where the file takes no lists, or not this one."""

    def settle(self) -> None:
        """Give back what the file keeps for itself, when all calls are made; it can be used again."""


@dataclass(frozen=True, eq=False)
class Movement:
    """What one rank moves in one call; pieces in the order of its memory, shape (pieces,) each."""

    offsets: Int64
    """In the file."""
    places: Int64
    """In memory."""
    lengths: Int64
    memory: Bytes
    writes: bool

    @property
    def first(self) -> int:
        """First byte of the file; 0 where nothing is moved."""
        return int(self.offsets.min()) if self.offsets.size else 0

    @property
    def end(self) -> int:
        """One past the last byte of the file; 0 where nothing is moved."""
        return int((self.offsets + self.lengths).max()) if self.offsets.size else 0


@dataclass(eq=False)
class Site:
    """Where a strategy works: the ranks of a file, the file, buffers that are used again, and what went wrong."""

    comm: MPI.Intracomm
    """Private to the strategy."""
    file: File
    errors: list[Exception] = field(default_factory=list)
    """Noted, never raised inside a call: the other ranks are waiting for data."""
    _rooms: dict[str, Bytes] = field(default_factory=dict)

    def room(self, purpose: str, size: int) -> Bytes:
        """A buffer of `size` bytes; one of each purpose is kept, so that its pages are there already."""
        kept = self._rooms.get(purpose)
        if kept is None or kept.size < size:
            kept = self._rooms[purpose] = allocate(size)
        return kept[:size]


class Strategy(Protocol):
    """Carries out a collective call; a member is found by its `name`."""

    name: ClassVar[str]

    def carry_out(self, site: Site, moved: Movement) -> None:
        """Move the bytes of this rank together with all others; collective, errors go to `site.errors`."""


def gather_ranges(comm: MPI.Intracomm, moved: Movement, extra: Int64 | None = None) -> Int64:
    """First byte and end of every rank, and `extra` numbers of each; shape (ranks, 2 + extras)."""
    mine = np.array([moved.first, moved.end, *(extra if extra is not None else ())], dtype=np.int64)
    found = np.empty((comm.size, mine.size), dtype=np.int64)
    comm.Allgather(mine, found)
    return found
