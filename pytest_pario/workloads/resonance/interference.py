"""Two programs of one job on disjoint communicators, each measured with and without the other (RES-38, RES-39)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, cast

from pytest_pario import mpi
from pytest_pario.environment.context import Context
from pytest_pario.environment.mount import type_of
from pytest_pario.errors import ParameterError, ProcessCountError, RemoteTaskError
from pytest_pario.measure.cache import CacheState, FlushRule, flush_caches, worst
from pytest_pario.measure.rounds import RoundSamples
from pytest_pario.model import Pattern
from pytest_pario.patterns.planning import plan
from pytest_pario.units import MiB
from pytest_pario.workloads.resonance.sharing import Pass, SharingProgram

if TYPE_CHECKING:
    from mpi4py import MPI

STOP = 7
"""Tag of the message by which the first program ends the other."""
PASSES = 3
"""Each of both alone and together in turn, so often (RES-29)."""
MEMORY = "memory for two programs"
PAGE_CACHES = FlushRule()


@dataclass(frozen=True)
class Shared:
    """MiB/s of both programs in each pass, alone and together; equal on all ranks."""

    strategy: str
    compute_s: float
    alone: tuple[float, ...]
    together: tuple[float, ...]
    other_alone: tuple[float, ...]
    other_together: tuple[float, ...]
    cache: CacheState
    """Before each pass; the worst of all passes of both programs."""
    samples: RoundSamples
    """The first program beside the other."""

    def plain(self) -> dict[str, Any]:
        """Everything but the samples, as plain data."""
        told = {name: value for name, value in vars(self).items() if name != "samples"}
        return {**told, "cache": asdict(self.cache), "relative": self.relative, "clients": self.samples.ranks}

    @property
    def relative(self) -> float:
        """Mean rate of the first program beside the other, over that without."""
        return fmean(self.together) / fmean(self.alone)


def measure_interference(
    comm: MPI.Intracomm,
    directory: Path,
    first: Pattern,
    other: Pattern,
    *,
    strategy: str,
    compute_s: float,
    rule: FlushRule = PAGE_CACHES,
) -> Shared:
    """The lower half of the ranks runs `first`, the upper half `other`, which computes between its calls.

    Caches of the files are emptied before each pass (RES-29).
    """
    if comm.size < 2:
        raise ProcessCountError("interference needs two ranks or more")
    if compute_s < 0:
        raise ParameterError("compute_s", compute_s, "0 or more", "suite table")
    half = comm.size // 2
    is_first = comm.rank < half
    own = cast("MPI.Intracomm", comm.Split(0 if is_first else 1, comm.rank))
    pattern, pause = (first, 0.0) if is_first else (other, compute_s)
    kind = mpi.on_root(comm, lambda: type_of(Context(directory)) or "unknown")

    def flush(ranks: MPI.Intracomm, path: Path) -> CacheState:
        return flush_caches(ranks, [path], kind, rule)

    program = SharingProgram(own, directory, pattern, strategy, pause, flush)
    try:
        program.write()
        _leave_together(comm, program)
        passes = [_one_pass(comm, own, program, half) for _ in range(PASSES)]
        _leave_together(comm, program)
    finally:
        program.close()
        own.Free()
    cache = worst(state for states in comm.allgather(program.caches) for state in states)
    moved = sum(table.total_bytes for table in plan(first, half).ranks)
    alone, other_alone, together, other_together = zip(*passes, strict=True)
    seconds = tuple(moved / (rate * MiB) for rate in together)
    samples = RoundSamples(seconds, (moved,) * PASSES, (), comm.size)
    return Shared(strategy, compute_s, alone, together, other_alone, other_together, cache, samples)


def _one_pass(comm: MPI.Intracomm, own: MPI.Intracomm, program: SharingProgram, half: int) -> tuple[float, ...]:
    """Rates of each alone and both together; the other alone goes on as long as the first did."""
    is_first = comm.rank < half
    alone, lasted_s = _alone(comm, program) if is_first else _idle(comm)
    lasted_s = comm.bcast(lasted_s, root=0)
    other_alone, _ = _idle(comm) if is_first else _alone(comm, program, lambda s: bool(own.bcast(s >= lasted_s)))
    reading = _prepare(comm, program)
    comm.Barrier()
    together = program.read(reading, None if is_first else lambda _: _told_to_stop(comm, own, half))
    if comm.rank == 0:
        comm.send(None, half, STOP)
    # only now: the other program goes on as long as this one reads, and no longer
    program.compare(reading)
    found = comm.allgather((alone, other_alone, together))
    return found[0][0], found[half][1], found[0][2], found[half][2]


def _alone(
    comm: MPI.Intracomm, program: SharingProgram, until: Callable[[float], bool] | None = None
) -> tuple[float, float]:
    """Rate and time of a program whose neighbour is idle."""
    reading = _prepare(comm, program)
    comm.Barrier()
    rate = program.read(reading, until)
    program.compare(reading)
    comm.Barrier()
    return rate, reading.elapsed_s


def _idle(comm: MPI.Intracomm) -> tuple[float, float]:
    """Be the neighbour of a program that runs alone."""
    mpi.together(comm, MEMORY, lambda: None)
    comm.Barrier()
    comm.Barrier()
    return 0.0, 0.0


def _prepare(comm: MPI.Intracomm, program: SharingProgram) -> Pass:
    """Take memory, of whose lack all ranks of both programs are told, and get ready."""
    return program.prepare(mpi.together(comm, MEMORY, program.make_room))


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
