"""A program that shares the storage with another: one pattern over and over, every byte that it reads compared."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_pario import mpi
from pytest_pario.access.datatypes import datatype
from pytest_pario.access.delegated import DelegatedBatch
from pytest_pario.errors import VerificationError
from pytest_pario.measure.cache import CacheState
from pytest_pario.model import Access, Extents, Pattern, Plan
from pytest_pario.patterns.payload import Payload, make_room, ring_payload
from pytest_pario.patterns.planning import plan, views
from pytest_pario.patterns.readback import verify_reads
from pytest_pario.patterns.stamp import content_of
from pytest_pario.schemes.settings import parse_strategy
from pytest_pario.strategies.catalogue import make_strategy
from pytest_pario.units import mib_per_s

if TYPE_CHECKING:
    from mpi4py import MPI


class LibraryBatch:
    """All calls of a rank by the library's own collective calls; errors are noted, as those of strategies are."""

    def __init__(self, work: Plan, rank: int, payload: Payload, handle: MPI.File) -> None:
        """Set the view of the pattern; collective."""
        codes = mpi.load()
        (view,) = views(work, rank)
        self._handle, self._payload, self._byte = handle, payload, codes.BYTE
        self._ends = work.ranks[rank].call_bytes.cumsum()
        self.errors: list[Exception] = []
        with datatype(view.filetype) as kind:
            handle.Set_view(view.displacement, codes.BYTE, kind)

    def run(self, number: int, writes: bool) -> None:
        """Make one call."""
        part = self._payload.call(number)
        call = self._handle.Write_at_all if writes else self._handle.Read_at_all
        try:
            call(int(self._ends[number]) - part.size, [part, part.size, self._byte])
        except Exception as error:
            self.errors.append(error)

    def free(self) -> None:
        """Put the view of plain bytes back; collective."""
        self._handle.Set_view(0, self._byte, self._byte)


class StrategyBatch:
    """All calls of a rank by a strategy of ours."""

    def __init__(self, batch: DelegatedBatch, handle: MPI.File) -> None:
        """Use an open file."""
        self._batch = batch
        batch.bind(handle)

    @property
    def errors(self) -> list[Exception]:
        """What went wrong on this rank."""
        return self._batch.errors

    def run(self, number: int, _writes: bool) -> None:
        """Make one call."""
        self._batch.run(number, number + 1)

    def free(self) -> None:
        """Give the private communicator back; collective."""
        self._batch.free()


@dataclass
class Pass:
    """One reading of the file, from the room that is made for it to the comparison."""

    room: Payload
    batch: LibraryBatch | StrategyBatch
    made: int = 0
    """Calls so far."""
    elapsed_s: float = 0.0
    """Of the slowest process, pauses included and caches emptied meanwhile left out."""


class SharingProgram:
    """One program on its own communicator and file."""

    def __init__(  # noqa: PLR0917 - what a program is
        self,
        comm: MPI.Intracomm,
        directory: Path,
        pattern: Pattern,
        strategy: str,
        compute_s: float,
        flush: Callable[[MPI.Intracomm, Path], CacheState],
    ) -> None:
        """Open its file; `flush` empties the caches of a file on the ranks of a communicator."""
        self._comm, self._pattern, self._compute_s, self._flush = comm, pattern, compute_s, flush
        self._settings, self._path = parse_strategy(strategy), directory / f"interference-{pattern.name}"
        self._work = plan(pattern, comm.size)
        self._content = content_of(self._work, 1)
        self.errors: list[Exception] = []
        self.caches: list[CacheState] = []
        """Before each reading of the file."""
        codes = mpi.load()
        self._file: MPI.File = codes.File.Open(comm, str(self._path), codes.MODE_CREATE | codes.MODE_RDWR)

    def write(self) -> None:
        """Make the file that is read."""
        batch = self._batch(ring_payload(self._content, self._comm.rank, self._table), "write")
        for number in range(self._table.call_count):
            batch.run(number, True)
        self._end(batch)
        # what one process writes another may read only after sync, barrier, sync
        self._attempt(self._file.Sync)
        self._comm.Barrier()
        self._attempt(self._file.Sync)

    def make_room(self) -> Payload:
        """Memory for what a reading of the file brings."""
        room = make_room(self._table)
        room.data[:] = 0
        return room

    def prepare(self, room: Payload) -> Pass:
        """Empty the caches and set the view; everything that leads to the first call."""
        self._attempt(self._empty_caches)
        return Pass(room, self._batch(room, "read"))

    def read(self, reading: Pass, until: Callable[[float], bool] | None = None) -> float:
        """All calls once, or over and over `until` told to stop, which it asks after every call; MiB/s.

        Before the file is read once more its caches are emptied again, which does not count as time.
        """
        count, moved, emptying_s = self._table.call_count, 0, 0.0
        begun = time.monotonic()
        while True:
            reading.batch.run(reading.made % count, False)
            moved += int(self._table.call_bytes[reading.made % count])
            reading.made += 1
            if self._compute_s:
                time.sleep(self._compute_s)
            passed_s = time.monotonic() - begun - emptying_s
            if reading.made == count if until is None else until(passed_s):
                break
            if reading.made % count == 0:
                self._attempt(self._empty_caches)
                emptying_s = time.monotonic() - begun - passed_s
        reading.elapsed_s = self._comm.allreduce(passed_s, op=mpi.load().MAX)
        return mib_per_s(self._comm.allreduce(moved), reading.elapsed_s)

    def compare(self, reading: Pass) -> None:
        """Compare all bytes; calls that the time did not suffice for are made up for first."""
        for number in range(reading.made, self._table.call_count):
            reading.batch.run(number, False)
        self._end(reading.batch)
        damage = verify_reads(reading.room, self._work, self._comm.rank, self._content, path=str(self._path))
        if damage is not None:
            self.errors.append(VerificationError(f"{self._pattern.name} beside another program", str(damage)))

    def close(self) -> None:
        """Close and remove the file."""
        self._file.Close()
        self._comm.Barrier()
        if self._comm.rank == 0:
            self._path.unlink(missing_ok=True)

    @property
    def _table(self) -> Extents:
        return self._work.ranks[self._comm.rank]

    def _batch(self, payload: Payload, phase: Access) -> LibraryBatch | StrategyBatch:
        strategy = make_strategy(self._settings)
        if strategy is None:
            return LibraryBatch(self._work, self._comm.rank, payload, self._file)
        table, path = self._table, str(self._path)
        return StrategyBatch(
            DelegatedBatch(strategy, self._comm, self._pattern, table, payload, phase, path), self._file
        )

    def _end(self, batch: LibraryBatch | StrategyBatch) -> None:
        self.errors += batch.errors
        batch.free()

    def _empty_caches(self) -> None:
        self.caches.append(self._flush(self._comm, self._path))

    def _attempt(self, action: Callable[[], object]) -> None:
        """Do what all ranks of the program do; its error is noted, since the other program waits for this one."""
        try:
            action()
        except Exception as error:
            self.errors.append(error)
