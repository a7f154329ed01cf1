"""The course of one timed pass, the same for MPI-IO and POSIX: open, accesses, sync, close (CONS-25).

What is told of a pass comes from the calls that were really made: a call is noted when it has returned, and an error in
its place where it failed. No error leaves the pass, since the other ranks are in the middle of theirs (GPFS-54).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from pytest_pario.access.passtrace import PassTrace
from pytest_pario.measure.clock import Stopwatch
from pytest_pario.model import Access, Pattern

if TYPE_CHECKING:
    from mpi4py import MPI

Act = Literal["open", "access", "sync", "close"]


@dataclass
class Deeds:
    """What one rank did in a pass, and what went wrong."""

    acts: list[str] = field(default_factory=list)
    """Calls that returned without an error, in order, like ones in a row once; a sync counts for what lies before it,
    so that one with an access behind it is struck out (CONS-45)."""
    errors: list[Exception] = field(default_factory=list)
    trace: PassTrace | None = None
    """Where calls are noted while tracing is on; data calls are told by those who made them."""

    def do(self, act: Act, action: Callable[[], object]) -> bool:
        """Make a call and note it; whether it went well."""
        if not self.attempt(act, action):
            return False
        if act == "access" and self.acts[-1:] == ["sync"]:
            self.acts.pop()
        if self.acts[-1:] != [act]:
            self.acts.append(act)
        return True

    def attempt(self, name: str, action: Callable[[], object]) -> bool:
        """Make a call that belongs to another one, such as the setting of a view; its error is noted."""
        begun_ns = 0 if self.trace is None else time.monotonic_ns()
        try:
            action()
        except Exception as error:
            self.errors.append(error)
            if self.trace is not None:
                self.trace.note(name, begun_ns, error)
            return False
        if self.trace is not None and name != "access":
            self.trace.note(name, begun_ns)
        return True


class Doing(Protocol):
    """A file as a pass uses it; where it could not be opened, only what needs all ranks is still done."""

    deeds: Deeds

    def open(self) -> None:
        """Open the file."""

    def accesses(self, one_by_one: bool) -> Iterator[Callable[[], object]]:
        """The data calls in order, in as few steps as can be, or one in each."""

    def sync(self) -> None:
        """Bring what was written to the device."""

    def close(self) -> None:
        """Close the file."""


@dataclass(frozen=True)
class Course:
    """Which calls a pass makes beside its accesses, and where barriers stand."""

    syncs: bool
    """After the last access."""
    syncs_each: bool
    """After every access."""
    as_job: bool
    """The time of a job: from a barrier right before the access to one after the sync (GPFS-02)."""
    intra_barriers: bool
    """Barriers between open, access and close (an option of CONS-25)."""
    as_calls: bool = False
    """The time of the calls: the first view is set beforehand, a barrier stands before the first call (CONS-35)."""
    call_barriers: bool = False
    """A barrier before every call, which is not timed (RES-32)."""


def course_of(pattern: Pattern, phase: Access, *, intra_barriers: bool = False, call_barriers: bool = False) -> Course:
    """What a row asks for in a phase; a read has nothing to sync, but where a job is timed (GPFS-03)."""
    job, writes = pattern.metric == "job_time", phase != "read"
    each = pattern.sync == "per_call" and writes
    syncs, as_calls = (job or writes) and pattern.sync != "none" and not each, pattern.metric == "aggregate"
    return Course(syncs, each, job, intra_barriers, as_calls, call_barriers)


def carry_out(comm: MPI.Comm, doing: Doing, course: Course) -> Stopwatch:
    """Go through the phases with the clock running; every rank meets every barrier, whatever went wrong before."""
    watch, deeds = Stopwatch(), doing.deeds
    between = comm.Barrier if course.intra_barriers else _nothing
    as_a_job = comm.Barrier if course.as_job else _nothing

    comm.Barrier()
    watch.start()
    opened = deeds.do("open", doing.open)
    steps = doing.accesses(course.syncs_each or course.call_barriers)
    if course.as_calls:
        steps = _begun(steps)
        comm.Barrier()
    as_a_job()
    watch.mark()
    between()
    for access in steps:
        if course.call_barriers:
            watch.wait(comm.Barrier)
        deeds.do("access", access)
        if course.syncs_each:
            deeds.do("sync", doing.sync)
    watch.mark()
    if course.syncs and opened:
        deeds.do("sync", doing.sync)
    as_a_job()
    watch.mark()
    between()
    if opened:
        deeds.do("close", doing.close)
    watch.stop()
    return watch


def _begun(steps: Iterator[Callable[[], object]]) -> Iterator[Callable[[], object]]:
    """The same steps, with everything done that leads to the first one."""
    first = list(itertools.islice(steps, 1))
    return itertools.chain(first, steps)


def _nothing() -> None:
    """Stand for a barrier that is not wanted."""
