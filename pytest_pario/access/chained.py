"""A file that several patterns share: opened once, closed once, each pattern timed by itself (MODEL-04, BEFF-30).

The clock of a pattern runs from a barrier to a barrier and holds the view, all calls, decisions and the sync. What is
made ready in between, and the checking of what was read, is outside of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_pario import mpi
from pytest_pario.access.datatypes import datatype, elementary
from pytest_pario.access.handing import FASTEST_CALL_S, Handing
from pytest_pario.access.info import as_info
from pytest_pario.access.loops import choose_loop
from pytest_pario.access.passtrace import trace_pass
from pytest_pario.access.target import Target
from pytest_pario.measure.repetition import Termination, repeat_timed
from pytest_pario.model import Access, Extents, Plan
from pytest_pario.patterns.payload import Payload
from pytest_pario.patterns.planning import period, plan, views

if TYPE_CHECKING:
    from mpi4py import MPI

MOST_CALLS = 1 << 20
"""Calls laid out at once; more of a time-driven loop are laid out inside its clock."""


@dataclass
class PatternPass:
    """What one pattern took on this rank; I/O with the view, barriers, broadcasts and sync add up to what elapsed."""

    repetitions: int = 0
    decisions: int = 0
    moved_bytes: int = 0
    elapsed_s: float = 0.0
    io_s: float = 0.0
    barrier_s: float = 0.0
    broadcast_s: float = 0.0
    sync_s: float = 0.0
    aside_s: float = 0.0
    """Time between its first and last call while the clock stood: what was read is verified, a disk reads ahead."""
    last_call_s: float = 0.0
    last_decision_s: float = 0.0
    errors: list[Exception] = field(default_factory=list)

    @property
    def lost_s(self) -> float:
        """Time in barriers and broadcasts."""
        return self.barrier_s + self.broadcast_s


class ChainedFile:
    """The open file of a chain of patterns on one communicator."""

    def __init__(self, target: Target, phase: Access, *, loop: str = "auto", delete: bool = False) -> None:
        """Belong to the file of `target`; every pattern of the chain has the same one."""
        self.comm, self.phase = target.comm, phase
        self._first, self._delete = target, delete
        self._member = choose_loop(loop, comm=target.comm)
        name = f"tracing {target.path.name}"
        self._trace = mpi.together(target.comm, name, lambda: trace_pass(str(target.own_file)))
        self._handle: MPI.File | None = None

    @property
    def is_open(self) -> bool:
        """Whether it is open."""
        return self._handle is not None

    def open(self) -> float:
        """Open on all ranks; seconds from barrier to barrier. An error here is one of all ranks, or MPI's own."""
        codes, target = mpi.load(), self._first
        amode = target.amode(self.phase) | (codes.MODE_DELETE_ON_CLOSE if self._delete else 0)
        problem: Exception | None = None
        self.comm.Barrier()
        begun_ns = time.perf_counter_ns()
        try:
            with as_info(target.hints) as info:
                handle = codes.File.Open(target.file_comm, str(target.own_file), amode, info)
        except codes.Exception as error:
            problem = error
        self.comm.Barrier()
        elapsed_s = (time.perf_counter_ns() - begun_ns) / 1e9
        self._note("open", begun_ns, problem)
        self._write_trace()
        failed = [rank for rank, bad in enumerate(self.comm.allgather(problem is not None)) if bad]
        if not failed:
            self._handle = handle
            return elapsed_s
        if problem is None and target.pattern.files == "each":
            handle.Close()
        raise problem or OSError(f"{target.own_file}: could not be opened on ranks {failed}")

    def close(self) -> float:
        """Close on all ranks; seconds to the barrier after it. An error of one rank is told to all after that."""
        handle, self._handle = self._handle, None
        problem: Exception | None = None
        begun_ns = time.perf_counter_ns()
        try:
            if handle is not None:
                handle.Close()
        except mpi.load().Exception as error:
            problem = error
        self.comm.Barrier()
        elapsed_s = (time.perf_counter_ns() - begun_ns) / 1e9
        if handle is not None:
            self._note("close", begun_ns, problem)
            self._write_trace()

        def leave() -> float:
            if problem is not None:
                raise problem
            return elapsed_s

        return mpi.together(self.comm, f"closing {self._first.path.name}", leave)

    def write_timed(
        self,
        target: Target,
        ring: Callable[[Extents], Payload],
        limit_s: float,
        termination: Termination,
        *,
        base: int = 0,
        most: int = 1 << 40,
        sets_view: bool = True,
        hints: Mapping[str, str] | None = None,
    ) -> PatternPass:
        """Write repetitions for `limit_s` seconds, at least one and at most `most` (BEFF-24, BEFF-26)."""
        calls = min(MOST_CALLS, most, max(1, int(limit_s / FASTEST_CALL_S)))
        handed = Handing(
            target,
            _unwanted,
            self._member,
            ring=ring,
            phase=self.phase,
            base=base,
            chunk_calls=calls,
            trace=self._trace,
        )
        handed.handle, made = self._handle, PatternPass()
        handed.lay_out(0)
        clock = _Clock(self.comm)
        clock.start()
        self._tell(made, target, handed.plan, sets_view=sets_view, hints=hints)
        repeated = repeat_timed(self.comm, handed.run, limit_s, termination, min(most, handed.most))
        made.io_s = max(0.0, clock.seconds - repeated.decision_s)
        self._sync(target, made)
        made.barrier_s += clock.stop()
        self._write_trace(handed)
        made.elapsed_s, made.repetitions, made.decisions = clock.total_s, repeated.repetitions, repeated.decisions
        made.barrier_s += repeated.barrier_s
        made.broadcast_s = repeated.broadcast_s
        made.last_call_s, made.last_decision_s = repeated.last_call_s, repeated.last_decision_s
        made.moved_bytes = handed.moved_bytes
        made.errors += handed.check(repeated.repetitions)
        return made

    def run(
        self,
        target: Target,
        repetitions: int,
        *,
        filling: Callable[[Plan], Payload] | None = None,
        ring: Callable[[Extents], Payload] | None = None,
        base: int = 0,
        chunk_bytes: int = 1 << 62,
        sets_view: bool = True,
        hints: Mapping[str, str] | None = None,
        after: Callable[[Plan, Payload], None] | None = None,
    ) -> PatternPass:
        """Make so many repetitions, in chunks of about `chunk_bytes`; `after` sees each chunk, the clock standing."""
        unit = plan(target.pattern, self.comm.size, 1).ranks[target.rank]
        fitting = max(1, chunk_bytes // max(1, unit.total_bytes)) * unit.call_count
        kept: list[Payload] = []

        def fill(part: Plan) -> Payload:
            assert filling is not None
            kept[:] = [filling(part)]
            return kept[0]

        made, clock, done = PatternPass(repetitions), _Clock(self.comm), 0
        while done < repetitions or not clock.started:
            count = min(repetitions - done, max(1, min(fitting, MOST_CALLS) // unit.call_count))
            begin = base + period(target.pattern, self.comm.size) * done
            handed = Handing(
                target,
                fill,
                self._member,
                ring=ring,
                phase=self.phase,
                base=begin,
                chunk_calls=count * unit.call_count,
                trace=self._trace,
            )
            handed.handle = self._handle
            handed.lay_out(0)
            clock.start()
            if done == 0:
                work = plan(target.pattern, self.comm.size, repetitions, base)
                self._tell(made, target, work, sets_view=sets_view, hints=hints)
            before_s = clock.seconds
            handed.run(0, count)
            after_s = clock.seconds
            made.io_s += after_s
            made.last_call_s = (after_s - before_s) / max(1, count)
            done += count
            if done >= repetitions:
                self._sync(target, made)
            made.barrier_s += clock.stop()
            self._write_trace(handed)
            made.moved_bytes += handed.moved_bytes
            made.errors += handed.check(count)
            if after is not None:
                after(handed.part(0), kept[0])
        made.elapsed_s, made.aside_s = clock.total_s, clock.aside_s
        return made

    def hints_in_force(self) -> dict[str, str]:
        """What the library says (BEFF-57)."""
        assert self._handle is not None
        info = self._handle.Get_info()
        try:
            return dict(info.items())
        finally:
            info.Free()

    def _tell(
        self, made: PatternPass, target: Target, work: Plan, *, sets_view: bool, hints: Mapping[str, str] | None
    ) -> None:
        """Set the view, with hints; hints alone where the view stays (BEFF-55). An error is noted, not raised."""
        assert self._handle is not None
        problem: Exception | None = None
        begun_ns = time.perf_counter_ns()
        try:
            with as_info(hints) as info:
                if sets_view:
                    shown = views(work, target.rank)[0]
                    with datatype(shown.filetype) as filetype, elementary(shown.etype) as etype:
                        self._handle.Set_view(shown.displacement, etype, filetype, "native", info)
                elif hints:
                    self._handle.Set_info(info)
        except mpi.load().Exception as error:
            problem = error
            made.errors.append(error)
        if sets_view or hints:
            self._note("set_view" if sets_view else "set_info", begun_ns, problem)

    def _sync(self, target: Target, made: PatternPass) -> None:
        """Barrier, sync, barrier: after the last repetition of a written pattern (BEFF-31)."""
        if self.phase == "read" or target.pattern.sync == "none":
            return
        assert self._handle is not None
        begun_ns = time.perf_counter_ns()
        self.comm.Barrier()
        met_ns = time.perf_counter_ns()
        problem: Exception | None = None
        try:
            self._handle.Sync()
        except mpi.load().Exception as error:
            problem = error
            made.errors.append(error)
        self._note("sync", met_ns, problem)
        made.barrier_s += (met_ns - begun_ns) / 1e9
        made.sync_s += (time.perf_counter_ns() - met_ns) / 1e9

    def _note(self, op: str, begun_ns: int, problem: Exception | None) -> None:
        """Keep a call for the trace, where there is one."""
        if self._trace is not None:
            self._trace.note(op, begun_ns, problem)

    def _write_trace(self, handed: Handing | None = None) -> None:
        """Write down what was done, the clock standing (GPFS-55)."""
        if self._trace is None:
            return
        if handed is not None:
            handed.tell()
        self._trace.write()


class _Clock:
    """Runs from barrier to barrier, and stands still in between."""

    def __init__(self, comm: MPI.Comm) -> None:
        self._comm = comm
        self._begun_ns = self._stopped_ns = 0
        self.total_s = self.aside_s = 0.0
        self.started = False

    @property
    def seconds(self) -> float:
        """Since the last start."""
        return (time.perf_counter_ns() - self._begun_ns) / 1e9

    def start(self) -> None:
        self._comm.Barrier()
        self._begun_ns = time.perf_counter_ns()
        if self.started:
            self.aside_s += (self._begun_ns - self._stopped_ns) / 1e9
        self.started = True

    def stop(self) -> float:
        """Wait for all; seconds of waiting."""
        before_ns = time.perf_counter_ns()
        self._comm.Barrier()
        self._stopped_ns = time.perf_counter_ns()
        self.total_s += (self._stopped_ns - self._begun_ns) / 1e9
        return (self._stopped_ns - before_ns) / 1e9


def _unwanted(_part: Plan) -> Payload:
    raise AssertionError("calls are laid out from a ring")
