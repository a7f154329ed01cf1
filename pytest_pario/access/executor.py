"""One timed pass over a plan: open, calls, sync, close, with nothing in between that does not belong there.

Everything that can be wrong with the arguments is found in a rehearsal under the guard, before the clock starts; errors
of the pass itself are noted and agreed after the clock has stopped, so that all ranks leave together (GPFS-54).
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from pytest_pario import mpi
from pytest_pario.access.batch import Batch, call_of, explicit_offsets, needs_view
from pytest_pario.access.datatypes import datatype, elementary
from pytest_pario.access.deeds import Deeds, carry_out, course_of
from pytest_pario.access.delegated import DelegatedBatch
from pytest_pario.access.failures import Subject
from pytest_pario.access.guard import GuardedFile
from pytest_pario.access.handing import Handing
from pytest_pario.access.info import as_info
from pytest_pario.access.loops import Member, choose_loop
from pytest_pario.access.passtrace import PassTrace, places_of, trace_pass
from pytest_pario.access.target import Target
from pytest_pario.errors import ParameterError, RemoteTaskError, ShortTransferError
from pytest_pario.measure.clock import RankTimes
from pytest_pario.measure.repetition import Repeated, Termination, repeat_timed
from pytest_pario.model import Access, Int64, Pattern, Plan
from pytest_pario.patterns.payload import Payload
from pytest_pario.patterns.planning import plan, views
from pytest_pario.patterns.recipe import Views
from pytest_pario.schemes.settings import StrategySettings
from pytest_pario.strategies.catalogue import make_strategy

if TYPE_CHECKING:
    from mpi4py import MPI

KEPT_VIEWS = 64
"""Datatypes of up to so many views are built before the clock starts; more are built one by one inside it."""

Building = Literal["none", "before the clock", "inside the timed part"]


@dataclass(frozen=True)
class Manner:
    """How a pass is made, beside what the pattern says; every choice is part of the record (CONS-07)."""

    intra_barriers: bool = False
    """Barriers between open, I/O and close (an option of CONS-25)."""
    call_barriers: bool = False
    """A barrier before every call, outside the time of the calls (RES-32)."""
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
    """What was called inside the time, in order, like calls in a row once: open, access, sync, close."""
    views: int = 0
    """Views that were set inside the time; 0 where the file is seen as plain bytes."""
    filetypes: Building = "none"
    """When their filetypes were built."""


def rehearse(target: Target, work: Plan, phase: Access) -> dict[str, str]:
    """Open and set the first view under the guard; returns the hints in force. Bad arguments end here, on all ranks."""
    used, hints = uses_view(target, work), dict(target.view_hints) or None
    with GuardedFile.open(target.file_comm, target.own_file, target.amode(phase), dict(target.hints)) as file:
        if used:
            shown = views(work, target.rank)[0]
            with datatype(shown.filetype) as filetype, elementary(shown.etype) as etype:
                file.set_view(shown.displacement, etype, filetype, info=hints)
                return file.get_hints()
        if hints:
            file.set_info(hints)
        return file.get_hints()


def uses_view(target: Target, work: Plan) -> bool:
    """Whether a view is set: on all ranks of a file or on none, also where a rank has nothing to move."""
    return mpi.agree(target.file_comm, needs_view(target.pattern, work.ranks[target.rank]))


def run_pass(target: Target, work: Plan, phase: Access, payload: Payload, manner: Manner = PLAIN) -> Pass:
    """Make one pass with MPI-IO and return this rank's times and errors; call `leave_together` afterwards."""
    with contextlib.ExitStack() as stack:
        if manner.strategy is not None and (strategy := make_strategy(manner.strategy)) is not None:
            table, path = work.ranks[target.rank], str(target.own_file)
            _require_even(target, work, target.pattern, phase, 0, manner)
            delegated = DelegatedBatch(strategy, target.file_comm, target.pattern, table, payload, phase, path)
            stack.callback(delegated.free)
            # the calls of a strategy trace themselves
            return _timed(target, phase, delegated, _PlainBytes(target, table.call_count), manner, trace_pass(path))
        # what all ranks must do together comes first, then what may fail on one of them
        used, member = uses_view(target, work), choose_loop(manner.loop, comm=target.comm)
        shown, pattern = views(work, target.rank), as_called(target.pattern, manner)
        _require_even(target, work, pattern, phase, len(shown) if used else 0, manner)

        def lay_out() -> tuple[PassTrace | None, _Viewing, Batch]:
            trace = trace_pass(str(target.own_file))
            viewing = _Viewing(target, work, shown, used, manner, stack)
            return trace, viewing, _lay_out(target, work, pattern, phase, payload, viewing, member, trace)

        trace, viewing, batch = mpi.together(target.comm, f"{target.pattern.name}: laying out calls", lay_out)
        return _timed(target, phase, batch, viewing, manner, trace)


def _lay_out(  # noqa: PLR0917 - what a call needs
    target: Target,
    work: Plan,
    pattern: Pattern,
    phase: Access,
    payload: Payload,
    viewing: _Viewing,
    member: Member,
    trace: PassTrace | None,
) -> Batch:
    table = work.ranks[target.rank]
    calls_of_views = list(viewing.shown.calls) if viewing.used else None
    offsets = explicit_offsets(target.pattern, table, calls_of_views, viewing.etype)
    call, path, places = call_of(pattern, phase), str(target.own_file), places_of(pattern, table)
    return Batch(member, call, target.pattern, offsets, payload, path, places=places, trace=trace)


def as_called(pattern: Pattern, manner: Manner) -> Pattern:
    """The row with the coordination that a strategy of the library's own calls asks for."""
    if manner.strategy is None or manner.strategy.name not in ("native", "independent"):
        return pattern
    # a file of each rank, or one that each rank opened by itself, has nobody to call together with
    together = pattern.files == "shared" and not pattern.open.alone
    return dataclasses.replace(pattern, coll=manner.strategy.name == "native" and together)


def _require_even(  # noqa: PLR0917 - what ranks do together
    target: Target, work: Plan, pattern: Pattern, phase: Access, view_count: int, manner: Manner = PLAIN
) -> None:
    """Refuse collective calls (data, sync, views, barriers) that not all ranks make: the others would wait."""
    together = call_of(pattern, phase).collective or course_of(pattern, phase).syncs_each or manner.call_barriers
    told = target.file_comm.allgather((work.ranks[target.rank].call_count if together else 0, view_count))
    for what, counts in zip(("calls", "views"), zip(*told, strict=True), strict=True):
        if len(set(counts)) > 1:
            raise ParameterError(f"{pattern.name}: {what} per rank", counts, "equal: all ranks make them together")


def run_timed_pass(
    target: Target,
    limit_s: float,
    writing: Callable[[Plan], Payload],
    manner: Manner = PLAIN,
) -> Pass:
    """Write repetitions for `limit_s` seconds, the same number on all ranks; single views go on by themselves."""
    member = choose_loop(manner.loop, comm=target.comm)
    work = plan(target.pattern, target.comm.size, 1)
    used, shown = uses_view(target, work), views(work, target.rank)
    _require_even(target, work, target.pattern, "write", len(shown) if used else 0)
    if used and len(shown) > 1:
        allowed = "fixed: a layout of several views does not go on by itself"
        raise ParameterError(f"{target.pattern.name}: repeat", target.pattern.repeat.name, allowed)
    with contextlib.ExitStack() as stack:

        def lay_out() -> tuple[PassTrace | None, _Viewing, Handing]:
            trace = trace_pass(str(target.own_file))
            handed = Handing(target, writing, member, trace=trace)
            viewing = _Viewing(target, handed.plan, views(handed.plan, target.rank), used, manner, stack)
            handed.lay_out(0, viewing.etype if used else None)
            return trace, viewing, handed

        trace, viewing, handed = mpi.together(target.comm, f"{target.pattern.name}: laying out calls", lay_out)
        info = stack.enter_context(as_info(target.hints or None))
        doing = _Repeating(target, handed, viewing, info, limit_s, manner.termination, trace)
        course = course_of(target.pattern, "write", intra_barriers=manner.intra_barriers)
        watch = carry_out(target.comm, doing, course)
    if trace is not None:
        handed.tell()
        trace.write()
    assert doing.repeated is not None
    errors = doing.deeds.errors + handed.check(doing.repeated.repetitions)
    acts = tuple(doing.deeds.acts)
    return Pass(watch.times(handed.moved_bytes), errors, doing.repeated, acts, viewing.count, viewing.filetypes)


class _Viewing:
    """The views of a rank and their datatypes, each built once: beforehand where they are few and not to be timed."""

    def __init__(  # noqa: PLR0917 - what a view needs
        self,
        target: Target,
        work: Plan,
        shown: Views,
        used: bool,
        manner: Manner,
        stack: contextlib.ExitStack,
    ) -> None:
        self.shown, self.used = shown, used
        self._calls, self._hints = work.ranks[target.rank].call_count, target.view_hints
        self.etype = shown.etype if used else 1
        self._etype = stack.enter_context(elementary(self.etype))
        beforehand = used and not manner.types_inside and len(shown) <= KEPT_VIEWS
        self._ready = [_build(shown, number, stack) for number in range(len(shown))] if beforehand else None
        self.count = len(shown) if used else 0
        self.filetypes: Building = "inside the timed part" if self._ready is None else "before the clock"
        if not used:
            self.filetypes = "none"

    def steps(self, handle: MPI.File, deeds: Deeds) -> Iterator[int]:
        """Set each view in turn and say how many calls are made under it; after an error the next ones are set, too."""
        if not self.used:
            deeds.attempt("set_info", lambda: _give_hints(handle, self._hints))
            yield self._calls
            return
        for number, calls in enumerate(self.shown.calls):
            deeds.attempt("set_view", functools.partial(self._set, handle, number))
            yield calls

    def _set(self, handle: MPI.File, number: int) -> None:
        with contextlib.ExitStack() as stack:
            info = stack.enter_context(as_info(self._hints or None))
            try:
                place, filetype = self._ready[number] if self._ready is not None else _build(self.shown, number, stack)
            except Exception:
                # all ranks of the file set a view together: one that cannot build its own takes part, and has failed
                handle.Set_view(0, self._etype, self._etype, "native", info)
                raise
            handle.Set_view(place, self._etype, filetype, "native", info)


def _build(shown: Views, number: int, stack: contextlib.ExitStack) -> tuple[int, MPI.Datatype]:
    """Displacement and filetype of one view."""
    view = shown[number]
    return view.displacement, stack.enter_context(datatype(view.filetype))


class _PlainBytes:
    """No view: strategies see the file as bytes."""

    count = 0
    filetypes: Building = "none"

    def __init__(self, target: Target, calls: int) -> None:
        self._calls, self._hints = calls, target.view_hints

    def steps(self, handle: MPI.File, deeds: Deeds) -> Iterator[int]:
        """All calls at once."""
        deeds.attempt("set_info", lambda: _give_hints(handle, self._hints))
        yield self._calls


def _give_hints(handle: MPI.File, hints: Mapping[str, str]) -> None:
    """Hints that come with a view, where there is none."""
    if hints:
        with as_info(hints) as info:
            handle.Set_info(info)


class _MpiFile:
    """The file of a target, opened by its communicator."""

    def __init__(self, target: Target, phase: Access, info: MPI.Info, trace: PassTrace | None) -> None:
        self.deeds, self._target, self._info = Deeds(trace=trace), target, info
        self._amode, self._path, self._comm = target.amode(phase), str(target.own_file), target.file_comm
        self._handle: MPI.File | None = None

    @property
    def handle(self) -> MPI.File:
        """The open file."""
        assert self._handle is not None
        return self._handle

    def open(self) -> None:
        """Open on all ranks of the file, who then all have it or all have an error."""
        self._handle = mpi.load().File.Open(self._comm, self._path, self._amode, self._info)
        if self._target.pattern.open.atomic:
            self.deeds.attempt("set_atomicity", lambda: self.handle.Set_atomicity(True))

    def sync(self) -> None:
        """Bring what this rank wrote to the device."""
        self.handle.Sync()

    def close(self) -> None:
        """Close, and delete where the target says so."""
        self.handle.Close()


class _Calling(_MpiFile):
    """A pass over all calls of a batch."""

    def __init__(  # noqa: PLR0917 - what the calls need
        self,
        target: Target,
        phase: Access,
        info: MPI.Info,
        batch: Batch | DelegatedBatch,
        viewing: _Viewing | _PlainBytes,
        trace: PassTrace | None,
    ) -> None:
        super().__init__(target, phase, info, trace)
        self._batch, self._viewing = batch, viewing

    def accesses(self, one_by_one: bool) -> Iterator[Callable[[], object]]:
        """The calls under each view."""
        if self._handle is None:
            return
        self.deeds.attempt("access", lambda: self._batch.bind(self.handle))
        done = 0
        for calls in self._viewing.steps(self._handle, self.deeds):
            step = 1 if one_by_one else max(calls, 1)
            for first in range(done, done + calls, step):
                yield functools.partial(self._batch.run, first, first + step)
            done += calls


class _Repeating(_MpiFile):
    """A pass that repeats for a given time; a rank without a file still hears when it is over."""

    def __init__(  # noqa: PLR0917 - what the loop needs
        self,
        target: Target,
        handed: Handing,
        viewing: _Viewing,
        info: MPI.Info,
        limit_s: float,
        termination: Termination,
        trace: PassTrace | None,
    ) -> None:
        super().__init__(target, "write", info, trace)
        self._handed, self._viewing, self._limit_s, self._termination = handed, viewing, limit_s, termination
        self.repeated: Repeated | None = None

    def accesses(self, one_by_one: bool) -> Iterator[Callable[[], object]]:
        """All repetitions in one step."""
        if self._handle is not None:
            self._handed.handle = self._handle
            next(self._viewing.steps(self._handle, self.deeds), 0)
        yield self._repeat

    def _repeat(self) -> None:
        comm, most = self._target.comm, self._handed.most
        self.repeated = repeat_timed(comm, self._run, self._limit_s, self._termination, most)

    def _run(self, first: int, last: int) -> None:
        if self._handle is not None:
            self.deeds.attempt("access", lambda: self._handed.run(first, last))


def _timed(  # noqa: PLR0917 - what a pass needs
    target: Target,
    phase: Access,
    batch: Batch | DelegatedBatch,
    viewing: _Viewing | _PlainBytes,
    manner: Manner,
    trace: PassTrace | None,
) -> Pass:
    barriers, each = manner.intra_barriers, manner.call_barriers
    course = course_of(target.pattern, phase, intra_barriers=barriers, call_barriers=each)
    with as_info(target.hints or None) as info:
        doing = _Calling(target, phase, info, batch, viewing, trace)
        watch = carry_out(target.comm, doing, course)
    if trace is not None:
        if isinstance(batch, Batch):
            batch.tell()
        trace.write()
    moved = batch.moved()
    times, errors = watch.times(int(moved.sum())), doing.deeds.errors + batch.errors
    result = Pass(times, errors, None, tuple(doing.deeds.acts), viewing.count, viewing.filetypes)
    _check_moved(result, batch, moved)
    return result


def _check_moved(result: Pass, batch: Batch | DelegatedBatch, moved: Int64) -> None:
    short = np.flatnonzero(batch.asked != moved)
    if short.size and not result.errors:
        first = int(short[0])
        offset = int(batch.offsets[first]) if batch.offsets is not None else None
        result.errors.append(ShortTransferError(batch.name, offset, int(batch.asked[first]), int(moved[first])))


def leave_together(target: Target, phase: Access, one: Pass) -> None:
    """Agree about the errors of a pass: each failing rank raises its own, the others RemoteTaskError (GPFS-49)."""
    name = f"{target.pattern.name}/{phase}"
    failed = [rank for rank, bad in enumerate(target.comm.allgather(bool(one.errors))) if bad]
    if one.errors:
        subject = Subject(str(target.own_file), target.rank)
        raise subject.translate(name, one.errors[0]) from one.errors[0]
    if failed:
        raise RemoteTaskError(name, failed)
