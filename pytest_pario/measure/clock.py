"""The clock of a phase: durations from the monotonic clock, MPI_Wtime beside it for the span rule (CONS-25..38).

`MPI_Wtime` of MPICH is the wall clock, so that a step of NTP lands in it; and it need not be global. So durations come
from CLOCK_MONOTONIC after a common barrier, and the span from MPI_Wtime is kept beside them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_pario import mpi
from pytest_pario.measure.spread import spread_of
from pytest_pario.model import Samples, Spread

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class RankTimes:
    """What one rank measured of one repetition: open, I/O, sync, close (CONS-25)."""

    open_s: float
    io_s: float
    sync_s: float
    close_s: float
    elapsed_s: float
    """From the start before open to the stop after close (CONS-28)."""
    wtime_start: float
    wtime_stop: float
    moved_bytes: int

    @property
    def job_s(self) -> float:
        """Access and sync alone, with a barrier before them (CONS-35..37), or on both sides (GPFS-02, GPFS-10)."""
        return self.io_s + self.sync_s


@dataclass
class Stopwatch:
    """Marks in order: start, opened, moved, synced, closed."""

    marks_ns: list[int] = field(default_factory=list)
    wtimes: list[float] = field(default_factory=list)
    waited_ns: int = 0
    """Between calls, which does not count as access."""

    def start(self) -> None:
        """Begin; call it right after the barrier."""
        self.wtimes.append(mpi.load().Wtime())
        self.mark()

    def mark(self) -> None:
        """The next phase ends here."""
        self.marks_ns.append(time.perf_counter_ns())

    def wait(self, until: Callable[[], object]) -> None:
        """Wait between two calls."""
        begun = time.perf_counter_ns()
        until()
        self.waited_ns += time.perf_counter_ns() - begun

    def stop(self) -> None:
        """The file is closed."""
        self.mark()
        self.wtimes.append(mpi.load().Wtime())

    def times(self, moved_bytes: int) -> RankTimes:
        """The four phases of this rank."""
        begun, opened, moved, synced, closed = self.marks_ns
        return RankTimes(
            open_s=(opened - begun) / 1e9,
            io_s=(moved - opened - self.waited_ns) / 1e9,
            sync_s=(synced - moved) / 1e9,
            close_s=(closed - synced) / 1e9,
            elapsed_s=(closed - begun) / 1e9,
            wtime_start=self.wtimes[0],
            wtime_stop=self.wtimes[-1],
            moved_bytes=moved_bytes,
        )


def clocks_agree(comm: MPI.Comm) -> bool:
    """Whether MPI_Wtime of the ranks may be compared: one host, or a clock that is global (CONS-38)."""
    codes = mpi.load()
    if codes.COMM_WORLD.Get_attr(codes.WTIME_IS_GLOBAL):
        return True
    return len(set(comm.allgather(codes.Get_processor_name()))) == 1


def agree_samples(comm: MPI.Comm, rounds: Sequence[RankTimes], *, calls_only: bool = False) -> Samples:
    """One set of numbers for all ranks: spreads between the processes, slowest rank, span.

    `calls_only` counts access and sync, in place of everything from open to close.
    """
    told: list[Sequence[RankTimes]] = comm.allgather(list(rounds))
    by_round = [[ranks[number] for ranks in told] for number in range(len(rounds))]

    def spreads(name: str) -> tuple[Spread, ...]:
        return tuple(spread_of([getattr(one, name) for one in ranks]) for ranks in by_round)

    return Samples(
        moved_bytes=tuple(sum(one.moved_bytes for one in ranks) for ranks in by_round),
        open=spreads("open_s"),
        io=spreads("io_s"),
        sync=spreads("sync_s"),
        close=spreads("close_s"),
        elapsed_s=tuple(max(one.job_s if calls_only else one.elapsed_s for one in ranks) for ranks in by_round),
        # latest stop - earliest start (CONS-31)
        span_s=tuple(
            max(one.wtime_stop for one in ranks) - min(one.wtime_start for one in ranks) for ranks in by_round
        ),
    )
