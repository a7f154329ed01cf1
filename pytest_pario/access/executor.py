"""One timed pass over a plan: open, calls, sync, close, with nothing in between that does not belong there.

Everything that can be wrong with the arguments is found in a rehearsal under the guard, before the clock starts; errors
of the pass itself are noted and agreed after the clock has stopped, so that all ranks leave together (GPFS-54).
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_pario import mpi
from pytest_pario.access.batch import Batch, call_of, explicit_offsets, needs_view
from pytest_pario.access.datatypes import datatype, elementary
from pytest_pario.access.delegated import DelegatedBatch
from pytest_pario.access.failures import Subject
from pytest_pario.access.guard import GuardedFile
from pytest_pario.access.handing import Handing
from pytest_pario.access.loops import choose_loop
from pytest_pario.access.target import Target
from pytest_pario.errors import ParameterError, RemoteTaskError, ShortTransferError
from pytest_pario.measure.clock import RankTimes, Stopwatch
from pytest_pario.measure.repetition import Repeated, Termination, repeat_timed
from pytest_pario.model import Access, Extents, Int64, Pattern, Plan
from pytest_pario.patterns.payload import Payload
from pytest_pario.patterns.planning import views
from pytest_pario.schemes.settings import StrategySettings
from pytest_pario.strategies.catalogue import make_strategy

if TYPE_CHECKING:
    from mpi4py import MPI

KEPT_VIEWS = 64
"""Datatypes of up to so many views are built before the clock starts; more are built one by one inside it."""


@dataclass(frozen=True)
class Manner:
    """How a pass is made, beside what the pattern says; every choice is part of the record (CONS-07)."""

    intra_barriers: bool = False
    """Barriers between open, I/O and close (CONS-25 has none)."""
    types_inside: bool = False
    """Build filetypes inside the timed part (GPFS-14, GPFS-24)."""
    loop: str = "auto"
    """Which loop makes the calls: compiled, python, or auto for the first that works on all ranks."""
    termination: Termination = "geometric"
    """How the end of a time-driven loop is found (BEFF-24, BEFF-26)."""
    strategy: StrategySettings | None = None
    """Who carries out collective calls; None makes the calls that the row names."""


PLAIN = Manner()


@dataclass
class Pass:
    """What one pass of one rank left."""

    times: RankTimes
    errors: list[Exception] = field(default_factory=list)
    repeated: Repeated | None = None
    """Of a time-driven pass."""
    acts: tuple[str, ...] = ()
    """What was called inside the time, in order, calls in a row once: open, access, sync, close."""


def rehearse(target: Target, work: Plan, phase: Access) -> dict[str, str]:
    """Open and set the first view under the guard; returns the hints in force. Bad arguments end here, on all ranks."""
    with GuardedFile.open(target.file_comm, target.own_file, target.amode(phase), dict(target.hints)) as file:
        shown = views(work, target.rank)
        if uses_view(target, work):
            with datatype(shown[0].filetype) as filetype, elementary(shown[0].etype) as etype:
                file.set_view(shown[0].displacement, etype, filetype)
                return file.get_hints()
        return file.get_hints()


def uses_view(target: Target, work: Plan) -> bool:
    """Whether a view is set: on all ranks of a file or on none, also where a rank has nothing to move."""
    return mpi.agree(target.file_comm, needs_view(target.pattern, work.ranks[target.rank]))


def run_pass(target: Target, work: Plan, phase: Access, payload: Payload, manner: Manner = PLAIN) -> Pass:
    """Make one pass with MPI-IO and return this rank's times and errors; call `leave_together` afterwards."""
    strategy = make_strategy(manner.strategy) if manner.strategy else None
    if strategy is not None:
        table, path = work.ranks[target.rank], str(target.own_file)
        delegated = DelegatedBatch(strategy, target.file_comm, target.pattern, table, payload, phase, path)
        try:
            return _timed(target, phase, delegated, _PlainBytes(table.call_count), manner)
        finally:
            delegated.free()
    with contextlib.ExitStack() as stack:
        viewing = _Viewing(target, work, manner, stack)
        table = work.ranks[target.rank]
        calls_of_views = [view.calls for view in viewing.shown] if viewing.used else [table.call_count]
        offsets = explicit_offsets(target.pattern, table, calls_of_views if viewing.used else None, viewing.etype)
        member = choose_loop(manner.loop, comm=target.comm)
        call = call_of(as_called(target.pattern, manner), phase)
        if call.collective:
            _require_even(target, table)
        batch = Batch(member, call, target.pattern, offsets, payload, str(target.own_file))
        return _timed(target, phase, batch, viewing, manner)


def as_called(pattern: Pattern, manner: Manner) -> Pattern:
    """The row with the coordination that a strategy of the library's own calls asks for."""
    if manner.strategy is None or manner.strategy.name not in ("native", "independent"):
        return pattern
    # a file of each rank has nobody to call together with
    return dataclasses.replace(pattern, coll=manner.strategy.name == "native" and pattern.files == "shared")


def _require_even(target: Target, table: Extents) -> None:
    """Collective calls that not all ranks make would hang."""
    counts = target.file_comm.allgather(table.call_count)
    if len(set(counts)) > 1:
        raise ParameterError(f"{target.pattern.name}: calls per rank", counts, "equal for collective calls")


def run_timed_pass(
    target: Target,
    limit_s: float,
    writing: Callable[[Plan], Payload],
    manner: Manner = PLAIN,
) -> Pass:
    """Write repetitions for `limit_s` seconds, the same number on all ranks; single views go on by themselves."""
    pattern, comm = target.pattern, target.comm
    handed = Handing(target, writing, choose_loop(manner.loop, comm=comm))
    codes, watch, noted = mpi.load(), Stopwatch(), list[Exception]()
    info = codes.Info.Create(dict(target.hints)) if target.hints else codes.INFO_NULL
    with contextlib.ExitStack() as stack:
        viewing = _Viewing(target, handed.plan, manner, stack)
        handed.lay_out(0, viewing.etype if viewing.used else None)
        comm.Barrier()
        watch.start()
        handle = codes.File.Open(target.file_comm, str(target.own_file), target.amode("write"), info)
        watch.mark()
        handed.handle = handle
        next(viewing.steps(handle), 0)
        repeated = repeat_timed(comm, handed.run, limit_s, manner.termination, handed.most)
        watch.mark()
        if pattern.sync != "none":
            _note(noted, handle.Sync)
        watch.mark()
        _note(noted, handle.Close)
        watch.stop()
    if info != codes.INFO_NULL:
        info.Free()
    return Pass(watch.times(handed.moved_bytes), noted + handed.check(repeated.repetitions), repeated)


class _Viewing:
    """The views of a rank and their datatypes, built beforehand where they are few."""

    def __init__(self, target: Target, work: Plan, manner: Manner, stack: contextlib.ExitStack) -> None:
        self.shown = views(work, target.rank)
        self.used = uses_view(target, work)
        self._calls = work.ranks[target.rank].call_count
        self.etype = self.shown[0].etype if self.used and len(self.shown) else 1
        self._etype = stack.enter_context(elementary(self.etype))
        beforehand = not manner.types_inside and len(self.shown) <= KEPT_VIEWS
        self._ready = [stack.enter_context(datatype(view.filetype)) for view in self.shown] if beforehand else None

    def steps(self, handle: MPI.File) -> Iterator[int]:
        """Set each view in turn and say how many calls are made under it."""
        if not self.used:
            yield self._calls
            return
        for number in range(len(self.shown)):
            view = self.shown[number]
            with contextlib.ExitStack() as stack:
                ready = self._ready
                filetype = ready[number] if ready is not None else stack.enter_context(datatype(view.filetype))
                handle.Set_view(view.displacement, self._etype, filetype)
                yield view.calls


class _PlainBytes:
    """No view: strategies see the file as bytes."""

    def __init__(self, calls: int) -> None:
        self._calls = calls

    def steps(self, _handle: MPI.File) -> Iterator[int]:
        """All calls at once."""
        yield self._calls


def _timed(
    target: Target, phase: Access, batch: Batch | DelegatedBatch, viewing: _Viewing | _PlainBytes, manner: Manner
) -> Pass:
    codes, pattern = mpi.load(), target.pattern
    info = codes.Info.Create(dict(target.hints)) if target.hints else codes.INFO_NULL
    amode, path, comm = target.amode(phase), str(target.own_file), target.file_comm
    syncs = (phase != "read" or pattern.metric == "job_time") and pattern.sync != "none"
    per_call = pattern.sync == "per_call" and phase != "read"
    between = target.comm.Barrier if manner.intra_barriers else _nothing
    # the time of a job: from a barrier right before the access to one after the sync (GPFS-02)
    as_a_job = target.comm.Barrier if pattern.metric == "job_time" else _nothing
    noted: list[Exception] = []
    watch, done, acts = Stopwatch(), 0, ["open", "access"]

    target.comm.Barrier()
    watch.start()
    handle = codes.File.Open(comm, path, amode, info)
    if pattern.open.atomic:
        handle.Set_atomicity(True)
    as_a_job()
    watch.mark()
    between()
    batch.bind(handle)
    for calls in viewing.steps(handle):
        if per_call:
            for number in range(done, done + calls):
                batch.run(number, number + 1)
                _note(noted, handle.Sync)
        else:
            batch.run(done, done + calls)
        done += calls
    watch.mark()
    if syncs and not per_call:
        _note(noted, handle.Sync)
    if syncs:
        acts.append("sync")
    as_a_job()
    watch.mark()
    between()
    _note(noted, handle.Close)
    acts.append("close")
    watch.stop()

    if info != codes.INFO_NULL:
        info.Free()
    moved = batch.moved()
    result = Pass(watch.times(int(moved.sum())), noted + batch.errors, acts=tuple(acts))
    _check_moved(result, batch, moved)
    return result


def _check_moved(result: Pass, batch: Batch | DelegatedBatch, moved: Int64) -> None:
    short = np.flatnonzero(batch.asked != moved)
    if short.size and not result.errors:
        first = int(short[0])
        offset = int(batch.offsets[first]) if batch.offsets is not None else None
        result.errors.append(ShortTransferError(batch.name, offset, int(batch.asked[first]), int(moved[first])))


def _note(noted: list[Exception], action: Any) -> None:
    try:
        action()
    except mpi.load().Exception as error:
        noted.append(error)


def _nothing() -> None:
    """Stand for a barrier that is not wanted."""


def leave_together(target: Target, phase: Access, one: Pass) -> None:
    """Agree about the errors of a pass: each failing rank raises its own, the others RemoteTaskError (GPFS-49)."""
    name = f"{target.pattern.name}/{phase}"
    failed = [rank for rank, bad in enumerate(target.comm.allgather(bool(one.errors))) if bad]
    if one.errors:
        subject = Subject(str(target.own_file), target.rank)
        raise subject.translate(name, one.errors[0]) from one.errors[0]
    if failed:
        raise RemoteTaskError(name, failed)
