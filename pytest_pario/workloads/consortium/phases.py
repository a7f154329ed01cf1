"""A timed phase of all processes: barrier, each its own time, the slowest counts (CONS-35..38).

Durations come from the monotonic clock; MPI_Wtime is read beside it for the span, which is valid only where clocks
agree: on one host, or where the library says that its clock is global (CONS-30, GEN-18).
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_pario import mpi
from pytest_pario.access.trace import Trace, trace_from_environment
from pytest_pario.environment.load import HostsLoad
from pytest_pario.errors import RemoteTaskError
from pytest_pario.measure.clock import clocks_agree
from pytest_pario.measure.rounds import RoundSamples
from pytest_pario.measure.spread import Interval, JobTime, Statistics, describe, highest_rate, job_time

if TYPE_CHECKING:
    from mpi4py import MPI

clock_ns = time.perf_counter_ns

DATA_PARTS = frozenset({"write", "read"})
"""The parts of a phase that move data."""


@dataclass(frozen=True)
class Work:
    """What one process did in one round of a phase."""

    operations: int
    moved_bytes: int = 0
    parts_s: Mapping[str, float] = field(default_factory=dict)
    """Seconds of each part of the phase, such as open, write and close, summed over the operations."""


@dataclass(frozen=True)
class Round:
    """One round of a phase over all processes; equal on every process."""

    time: JobTime
    operations: int
    """Of all processes."""
    operations_each: int
    """Of the process that did most."""
    moved_bytes: int
    between: Statistics
    """Seconds of the processes (CONS-34)."""
    parts: Mapping[str, Statistics]
    """Seconds of each part over the processes (CONS-34)."""

    @property
    def seconds_per_operation(self) -> float:
        """What one operation takes a process, others being busy too (CONS-73)."""
        return self.time.slowest_s / max(self.operations_each, 1)

    @property
    def data_s(self) -> float:
        """Seconds that a process spent on data, in the mean over the processes (CONS-72)."""
        return sum(found.mean for part, found in self.parts.items() if part in DATA_PARTS)

    @property
    def naming_s(self) -> float:
        """Seconds that a process spent on everything else: making, opening, closing, destroying (CONS-72)."""
        return max(0.0, self.between.mean - self.data_s)


@dataclass(frozen=True)
class Phase:
    """The rounds of a phase, and what its time covers."""

    name: str
    timed: tuple[str, ...]
    """The operations inside the timed part (CONS-07)."""
    clients: int
    warmups: tuple[Round, ...]
    rounds: tuple[Round, ...]
    flags: tuple[str, ...] = ()
    """What limits the validity of the numbers."""
    load: Mapping[str, object] | None = None
    """Who else used the hosts meanwhile; None where no host can tell."""
    hints_requested: Mapping[str, str] = field(default_factory=dict)
    """None for plain POSIX calls."""
    hints: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What became of them: accepted, changed, dropped, defaulted (GEN-12)."""

    @property
    def samples(self) -> RoundSamples:
        """The slowest process's seconds and all bytes of each round, as benchmarks keep them."""
        return RoundSamples(
            seconds=tuple(one.time.slowest_s for one in self.rounds),
            moved_bytes=tuple(one.moved_bytes for one in self.rounds),
            warmup_seconds=tuple(one.time.slowest_s for one in self.warmups),
            ranks=self.clients,
        )

    def plain(self) -> dict[str, Any]:
        """What is kept beside the seconds: counts, both rates, spreads, and how rounds were combined (CONS-07)."""
        operations = [one.time.rate_max(one.operations) for one in self.rounds]
        return {
            "operation": self.name,
            "flags": list(self.flags),
            "load": self.load,
            "hints_requested": dict(self.hints_requested),
            "hints": {group: dict(hints) for group, hints in self.hints.items()},
            "timed": list(self.timed),
            "combined": "each round kept; rates of the best round as highest_*",
            "clients": self.clients,
            "operations": [one.operations for one in self.rounds],
            "seconds_per_operation": [one.seconds_per_operation for one in self.rounds],
            "operations_per_s_max": operations,
            "operations_per_s_span": [one.time.rate_span(one.operations) for one in self.rounds],
            "bytes_per_s_max": [one.time.rate_max(one.moved_bytes) for one in self.rounds],
            "bytes_per_s_span": [one.time.rate_span(one.moved_bytes) for one in self.rounds],
            "highest_operations_per_s": highest_rate(operations),
            "data_s": [one.data_s for one in self.rounds],
            "naming_s": [one.naming_s for one in self.rounds],
            "span_s": [one.time.span_s for one in self.rounds],
            "between_processes": [one.between.plain() for one in self.rounds],
            "between_rounds": describe(self.samples.seconds).plain(),
            "parts": [{part: found.plain() for part, found in one.parts.items()} for one in self.rounds],
        }


def measure_phase(
    comm: MPI.Intracomm,
    name: str,
    act: Callable[[], Work],
    *,
    place: Path,
    timed: Sequence[str],
    rounds: int,
    warmup_rounds: int = 1,
    before: Callable[[], object] | None = None,
    after: Callable[[], object] | None = None,
) -> Phase:
    """Repeat a phase on all processes at a place; `before` and `after` prepare and verify each round, untimed.

    An error in one of the three on some process ends the phase on all (ERR-13).
    """
    agree, done = clocks_agree(comm), list[Round]()
    world = mpi.load().COMM_WORLD.Get_rank()
    trace = mpi.together(comm, f"tracing {name}", lambda: trace_from_environment(world))
    meter = HostsLoad(comm)
    for number in range(warmup_rounds + rounds):
        if before is not None:
            settle(comm, f"preparing round {number} of {name}", before)
        done.append(_one_round(comm, _Traced(name, act, place, trace), agree))
        if after is not None:
            settle(comm, f"verifying round {number} of {name}", after)
    load = meter.stop()
    warmups, kept = tuple(done[:warmup_rounds]), tuple(done[warmup_rounds:])
    return Phase(name, tuple(timed), comm.size, warmups, kept, find_flags(comm, load), load)


@dataclass(frozen=True)
class _Traced:
    """The timed part of a phase, of which a trace has one record for each round (GPFS-55)."""

    name: str
    act: Callable[[], Work]
    place: Path
    trace: Trace | None

    def tell(self, begun_s: float, work: Work, failure: Exception | None) -> None:
        """Write the record; after the clock has stopped."""
        if self.trace is None:
            return
        if failure is not None:
            self.trace.failure(self.name, str(self.place), None, None, failure, at_s=begun_s)
        else:
            moved = work.moved_bytes or None
            self.trace.success(self.name, str(self.place), None, moved, moved, at_s=begun_s)


def _one_round(comm: MPI.Comm, phase: _Traced, agree: bool) -> Round:
    codes = mpi.load()
    failure: Exception | None = None
    work = Work(0)
    comm.Barrier()
    begun_s, start_s = time.time(), codes.Wtime()
    begun_ns = clock_ns()
    try:
        work = phase.act()
    except Exception as error:
        failure = error
    elapsed_s = (clock_ns() - begun_ns) / 1e9
    interval = Interval(start_s, codes.Wtime(), elapsed_s)
    phase.tell(begun_s, work, failure)
    told = comm.allgather((interval, work, failure is not None))
    _leave(phase.name, failure, [bad for _, _, bad in told])
    works = [one for _, one, _ in told]
    return Round(
        time=job_time([one for one, _, _ in told], clocks_agree=agree),
        operations=sum(one.operations for one in works),
        operations_each=max(one.operations for one in works),
        moved_bytes=sum(one.moved_bytes for one in works),
        between=describe([one.elapsed_s for one, _, _ in told]),
        parts={part: describe([one.parts_s.get(part, 0.0) for one in works]) for part in _parts(works)},
    )


def settle(comm: MPI.Comm, name: str, act: Callable[[], object]) -> None:
    """Do something on every process; if it fails on one, all leave: it with its error, the others told of it."""
    mpi.together(comm, name, act)


def _leave(name: str, failure: Exception | None, failed: Sequence[bool]) -> None:
    if failure is not None:
        raise failure
    if any(failed):
        raise RemoteTaskError(name, [rank for rank, bad in enumerate(failed) if bad])


def _parts(works: Iterable[Work]) -> list[str]:
    return list(dict.fromkeys(part for one in works for part in one.parts_s))


def find_flags(comm: MPI.Comm, load: Mapping[str, object] | None) -> tuple[str, ...]:
    """`oversubscribed` where a host has more processes than cores that they may use (GEN-19), `polluted` by others."""
    hosts = comm.allgather((mpi.load().Get_processor_name(), len(os.sched_getaffinity(0))))
    processes = Counter(host for host, _ in hosts)
    flags = ("oversubscribed",) if any(processes[host] > cores for host, cores in hosts) else ()
    return (*flags, "polluted") if load is not None and load["polluted"] else flags
