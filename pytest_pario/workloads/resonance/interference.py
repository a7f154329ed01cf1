"""Two programs of one job on disjoint communicators, each measured with and without the other (RES-38, RES-39)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pytest_pario import mpi
from pytest_pario.access.delegated import DelegatedBatch
from pytest_pario.errors import ParioError, ProcessCountError, RemoteTaskError
from pytest_pario.measure.rounds import RoundSamples
from pytest_pario.model import Access, Pattern
from pytest_pario.patterns.payload import Payload, make_room, ring_payload
from pytest_pario.patterns.planning import plan
from pytest_pario.patterns.stamp import content_of
from pytest_pario.schemes.settings import parse_strategy
from pytest_pario.strategies.catalogue import make_strategy
from pytest_pario.units import MiB, mib_per_s

if TYPE_CHECKING:
    from mpi4py import MPI

STOP = 7
"""Tag of the message by which the first program ends the other."""


@dataclass(frozen=True)
class Shared:
    """MiB/s of both programs, alone and together; equal on all ranks."""

    strategy: str
    compute_s: float
    alone: float
    together: float
    other_alone: float
    other_together: float
    samples: RoundSamples
    """The first program beside the other."""

    def plain(self) -> dict[str, Any]:
        """Everything but the samples, as plain data."""
        told = {name: value for name, value in vars(self).items() if name != "samples"}
        return {**told, "relative": self.relative, "clients": self.samples.ranks}

    @property
    def relative(self) -> float:
        """Rate of the first program beside the other, over its rate without."""
        return self.together / self.alone


def measure_interference(
    comm: MPI.Intracomm, directory: Path, first: Pattern, other: Pattern, *, strategy: str, compute_s: float
) -> Shared:
    """The lower half of the ranks runs `first`, the upper half `other`, which computes between its calls."""
    if comm.size < 2:
        raise ProcessCountError("interference needs two ranks or more")
    half = comm.size // 2
    is_first = comm.rank < half
    own = cast("MPI.Intracomm", comm.Split(0 if is_first else 1, comm.rank))
    program = _Program(own, directory, first if is_first else other, strategy, 0.0 if is_first else compute_s)
    try:
        program.run("write")
        comm.Barrier()
        alone = program.run("read") if is_first else 0.0
        comm.Barrier()
        other_alone = 0.0 if is_first else program.run("read")
        comm.Barrier()
        together = program.run("read", until=None if is_first else lambda: _told_to_stop(comm, own, half))
        if comm.rank == 0:
            comm.send(None, half, STOP)
        _leave_together(comm, program)
    finally:
        program.close()
        own.Free()
    found = comm.allgather((alone, other_alone, together))
    moved = sum(table.total_bytes for table in plan(first, half).ranks)
    seconds = moved / (found[0][2] * MiB)
    samples = RoundSamples((seconds,), (moved,), (), comm.size)
    return Shared(strategy, compute_s, found[0][0], found[0][2], found[half][1], found[half][2], samples)


def _told_to_stop(comm: MPI.Intracomm, own: MPI.Intracomm, half: int) -> bool:
    """Whether the first program has ended; its message is taken when it has come."""
    came = comm.Iprobe(0, STOP) if comm.rank == half else False
    if came:
        comm.recv(source=0, tag=STOP)
    return bool(own.bcast(came))


def _leave_together(comm: MPI.Intracomm, program: _Program) -> None:
    failed = [rank for rank, bad in enumerate(comm.allgather(bool(program.errors))) if bad]
    if program.errors:
        raise program.errors[0]
    if failed:
        raise RemoteTaskError("interference", failed)


class _Program:
    """One program on its own communicator and file."""

    def __init__(self, comm: MPI.Intracomm, directory: Path, pattern: Pattern, strategy: str, compute_s: float) -> None:
        self._comm, self._pattern, self._compute_s = comm, pattern, compute_s
        self._settings, self._path = parse_strategy(strategy), directory / f"interference-{pattern.name}"
        self._work = plan(pattern, comm.size)
        self.errors: list[Exception] = []
        codes = mpi.load()
        self._file: MPI.File = codes.File.Open(comm, str(self._path), codes.MODE_CREATE | codes.MODE_RDWR)

    def run(self, phase: Access, until: Callable[[], bool] | None = None) -> float:
        """All calls once, or over and over `until` told to stop; MiB/s of the slowest rank."""
        strategy = make_strategy(self._settings)
        if strategy is None:
            raise ParioError(f"{self._settings.name} is a call of the library; compare two_phase in its place")
        table, path = self._work.ranks[self._comm.rank], str(self._path)
        batch = DelegatedBatch(strategy, self._comm, self._pattern, table, self._payload(phase), phase, path)
        batch.bind(self._file)
        begun, moved = time.monotonic(), 0
        while True:
            for number in range(table.call_count):
                batch.run(number, number + 1)
                if self._compute_s:
                    time.sleep(self._compute_s)
            moved += table.total_bytes
            if until is None or until():
                break
        elapsed_s = self._comm.allreduce(time.monotonic() - begun, op=mpi.load().MAX)
        self.errors += batch.errors
        batch.free()
        return mib_per_s(self._comm.allreduce(moved), elapsed_s)

    def _payload(self, phase: Access) -> Payload:
        rank, table = self._comm.rank, self._work.ranks[self._comm.rank]
        return make_room(table) if phase == "read" else ring_payload(content_of(self._work, 1), rank, table)

    def close(self) -> None:
        """Close and remove the file."""
        self._file.Close()
        self._comm.Barrier()
        if self._comm.rank == 0:
            self._path.unlink(missing_ok=True)
