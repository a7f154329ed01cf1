"""Two programs of one job on disjoint communicators, each measured with and without the other (RES-38, RES-39)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, cast

from pytest_pario.errors import ParameterError, ProcessCountError, RemoteTaskError
from pytest_pario.measure.rounds import RoundSamples
from pytest_pario.model import Pattern
from pytest_pario.patterns.planning import plan
from pytest_pario.units import MiB
from pytest_pario.workloads.resonance.sharing import SharingProgram

if TYPE_CHECKING:
    from mpi4py import MPI

STOP = 7
"""Tag of the message by which the first program ends the other."""
PASSES = 3
"""Each of both alone and together in turn, so often (RES-29)."""


@dataclass(frozen=True)
class Shared:
    """MiB/s of both programs in each pass, alone and together; equal on all ranks."""

    strategy: str
    compute_s: float
    alone: tuple[float, ...]
    together: tuple[float, ...]
    other_alone: tuple[float, ...]
    other_together: tuple[float, ...]
    samples: RoundSamples
    """The first program beside the other."""

    def plain(self) -> dict[str, Any]:
        """Everything but the samples, as plain data."""
        told = {name: value for name, value in vars(self).items() if name != "samples"}
        return {**told, "relative": self.relative, "clients": self.samples.ranks}

    @property
    def relative(self) -> float:
        """Mean rate of the first program beside the other, over that without."""
        return fmean(self.together) / fmean(self.alone)


def measure_interference(
    comm: MPI.Intracomm, directory: Path, first: Pattern, other: Pattern, *, strategy: str, compute_s: float
) -> Shared:
    """The lower half of the ranks runs `first`, the upper half `other`, which computes between its calls."""
    if comm.size < 2:
        raise ProcessCountError("interference needs two ranks or more")
    if compute_s < 0:
        raise ParameterError("compute_s", compute_s, "0 or more", "suite table")
    half = comm.size // 2
    is_first = comm.rank < half
    own = cast("MPI.Intracomm", comm.Split(0 if is_first else 1, comm.rank))
    pattern, pause = (first, 0.0) if is_first else (other, compute_s)
    program = SharingProgram(own, directory, pattern, strategy, pause)
    try:
        program.write()
        comm.Barrier()
        passes = [_one_pass(comm, own, program, half) for _ in range(PASSES)]
        _leave_together(comm, program)
    finally:
        program.close()
        own.Free()
    moved = sum(table.total_bytes for table in plan(first, half).ranks)
    alone, other_alone, together, other_together = zip(*passes, strict=True)
    seconds = tuple(moved / (rate * MiB) for rate in together)
    samples = RoundSamples(seconds, (moved,) * PASSES, (), comm.size)
    return Shared(strategy, compute_s, alone, together, other_alone, other_together, samples)


def _one_pass(comm: MPI.Intracomm, own: MPI.Intracomm, program: SharingProgram, half: int) -> tuple[float, ...]:
    """Rates of each alone and both together; the other alone goes on as long as the first did."""
    is_first = comm.rank < half
    begun = time.monotonic()
    alone = program.read() if is_first else 0.0
    lasted_s = comm.bcast(time.monotonic() - begun, root=0)
    comm.Barrier()
    other_alone = 0.0 if is_first else program.read(_after(own, lasted_s))
    comm.Barrier()
    together = program.read(None if is_first else lambda: _told_to_stop(comm, own, half))
    if comm.rank == 0:
        comm.send(None, half, STOP)
    found = comm.allgather((alone, other_alone, together))
    return found[0][0], found[half][1], found[0][2], found[half][2]


def _after(own: MPI.Intracomm, seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: bool(own.bcast(time.monotonic() >= end))


def _told_to_stop(comm: MPI.Intracomm, own: MPI.Intracomm, half: int) -> bool:
    """Whether the first program has ended; its message is taken when it has come."""
    came = comm.Iprobe(0, STOP) if comm.rank == half else False
    if came:
        comm.recv(source=0, tag=STOP)
    return bool(own.bcast(came))


def _leave_together(comm: MPI.Intracomm, program: SharingProgram) -> None:
    failed = [rank for rank, bad in enumerate(comm.allgather(bool(program.errors))) if bad]
    if program.errors:
        raise program.errors[0]
    if failed:
        raise RemoteTaskError("interference", failed)
