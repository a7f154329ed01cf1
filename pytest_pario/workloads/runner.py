"""Run one pattern and phase: prepare, rehearse, measure, verify, record. The same line for every suite."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_pario import mpi
from pytest_pario.access.executor import PLAIN, Manner, Pass, leave_together, rehearse, run_pass, run_timed_pass
from pytest_pario.access.loops import Target as LoopTarget
from pytest_pario.access.loops import choose_loop
from pytest_pario.access.posix import run_posix_pass
from pytest_pario.access.target import Target, prepare_new, remove_files, require_space
from pytest_pario.access.verification import cross_read, make_reading_room, verify_read, verify_written
from pytest_pario.errors import ParameterError
from pytest_pario.measure.cache import CacheState, FlushRule, evict, flush_caches
from pytest_pario.measure.clock import RankTimes, agree_samples
from pytest_pario.measure.residency import resident_fraction
from pytest_pario.model import Access, Pattern, Plan, Record, Timed
from pytest_pario.patterns.payload import Payload, ring_payload, whole_payload
from pytest_pario.patterns.planning import plan
from pytest_pario.patterns.stamp import LINE, Content, content_of
from pytest_pario.units import GiB, format_bytes, mib_per_s
from pytest_pario.workloads.delegation import settle
from pytest_pario.workloads.hints import check_hints, classify_hints, group_hints

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class RunRules:
    """How patterns are run, beside what their rows say."""

    rounds: int = 5
    warmup_rounds: int = 1
    seed: int = 1
    memory_limit: int = 4 * GiB
    """Most bytes of buffers that one rank may take."""
    flush: FlushRule = field(default_factory=FlushRule)
    manner: Manner = PLAIN
    direct: int = 0
    """Alignment for O_DIRECT with api=posix; 0 is buffered."""
    device_rate: float | None = None
    """MiB/s that the device can plausibly deliver; a faster read is flagged."""
    whole_buffer: bool = False
    """No byte of the buffer is used twice in one pass (CONS-41)."""
    keep: bool = False
    hints: Mapping[str, str] = field(default_factory=dict)
    """Requested for every pattern; the row's own win."""
    strategy: str | None = None
    """Strategy of rows that name none, such as `resonant:unit=64KiB,nodes=4`; None makes the calls of the row."""
    cross: bool = False
    """Also read through MPI what the next rank wrote (GEN-04 c)."""


class Runner:
    """Runs patterns on a communicator, in a directory of the filesystem under test."""

    def __init__(self, comm: MPI.Intracomm, directory: Path, fstype: str, rules: RunRules) -> None:
        """Keep what all runs of a test share."""
        self.comm, self.directory, self.fstype, self.rules = comm, directory, fstype, rules

    def run(self, pattern: Pattern, phase: Access) -> Record:
        """Measure a phase of a pattern; wrong bytes, short transfers and I/O errors are raised on all ranks alike."""
        if phase not in pattern.access:
            raise ParameterError(f"{pattern.name}: phase", phase, f"one of {', '.join(pattern.access)}")
        work = plan(pattern, self.comm.size)
        hints = {**self.rules.hints, **pattern.hints.on_open}
        check_hints(hints)  # GEN-13
        rules = self.rules
        settings = settle(self.comm, pattern, rules.strategy, hints, self.directory)
        self.rules = dataclasses.replace(rules, manner=dataclasses.replace(rules.manner, strategy=settings))
        target = Target(self.comm, pattern, self.directory / pattern.name, hints)
        self._check(target, work)
        try:
            return _Measurement(self, target, work, phase).record()
        finally:
            self.rules = rules
            if not self.rules.keep:
                remove_files(target)

    def _check(self, target: Target, work: Plan) -> None:
        """Refuse before any I/O what cannot be done, on all ranks alike."""
        problem = ""
        needed = work.ranks[target.rank].total_bytes
        if needed > self.rules.memory_limit:
            problem = format_bytes(needed)
        told = [text for text in self.comm.allgather(problem) if text]
        if told:
            limit = format_bytes(self.rules.memory_limit)
            raise ParameterError(f"{target.pattern.name}: bytes per rank", told[0], f"at most the memory limit {limit}")
        require_space(target, work)


class _Measurement:
    """One phase of one pattern."""

    def __init__(self, runner: Runner, target: Target, work: Plan, phase: Access) -> None:
        self.runner, self.target, self.work, self.phase = runner, target, work, phase
        self.rules, self.comm = runner.rules, runner.comm
        self.facts: dict[str, Any] = {}
        self.cache: CacheState | None = None

    def record(self) -> Record:
        """Run all rounds and put together what is saved."""
        if isinstance(self.target.pattern.repeat, Timed):
            self._choose_repetitions(self.target.pattern.repeat)
        first = content_of(self.work, self.rules.seed, 0)
        self.facts |= prepare_new(self.target, self.work)
        if self.phase != "write":
            self._pass("write", self._payload(first))
            verify_written(self.target, self.work, first)
        if self.target.pattern.api == "mpiio":
            in_force = rehearse(self.target, self.work, self.phase)
            self.facts["hints"] = group_hints(classify_hints(self.target.hints, in_force))  # GEN-12
        one_round: Callable[[int], RankTimes] = {
            "write": self._write_round,
            "rewrite": self._rewrite_round,
            "read": self._read_round,
        }[self.phase]
        times = [one_round(number) for number in range(self.rules.warmup_rounds + self.rules.rounds)]
        warmups, measured = times[: self.rules.warmup_rounds], times[self.rules.warmup_rounds :]
        if self.rules.cross and self.phase == "read" and _has_known_places(self.target.pattern):
            cross_read(self.target, self.work, first)
        return self._finish(warmups, measured)

    def _choose_repetitions(self, rule: Timed) -> None:
        """Write for the pattern's time; everything after it repeats as often (BEFF-27)."""
        prepare_new(self.target, plan(self.target.pattern, self.comm.size, 1))
        content = content_of(self.work, self.rules.seed, 0)
        rank, mem = self.target.rank, self.target.pattern.mem

        def writing(part: Plan) -> Payload:
            return ring_payload(content, rank, part.ranks[rank], mem)

        done = run_timed_pass(self.target, rule.limit_s, writing, self.rules.manner)
        leave_together(self.target, "write", done)
        assert done.repeated is not None
        self.work = plan(self.target.pattern, self.comm.size, done.repeated.repetitions)
        verify_written(self.target, self.work, content)
        times = agree_samples(self.comm, [done.times])
        self.facts["time_driven"] = {
            "limit_s": rule.limit_s,
            "termination": self.rules.manner.termination,
            **dataclasses.asdict(done.repeated),
            "moved_bytes": times.moved_bytes[0],
            "open_to_close_s": times.elapsed_s[0],
        }

    def _write_round(self, number: int) -> RankTimes:
        content = content_of(self.work, self.rules.seed, 0)
        prepare_new(self.target, self.work)
        if self.facts["allocation"] != "new":
            evict(self.target.own_file)
            fractions = self.comm.allgather(resident_fraction(self.target.own_file).fraction)
            known = [one for one in fractions if one is not None]
            resident = max(known) if len(known) == len(fractions) else None
            before = self.facts.get("resident_before_write", 0.0)
            # the worst of all rounds counts; unknown is worse than anything
            unknown = resident is None or before is None
            self.facts["resident_before_write"] = None if unknown else max(resident or 0.0, before)
        done = self._pass("write", self._payload(content))
        verify_written(self.target, self.work, content)
        return done.times

    def _rewrite_round(self, number: int) -> RankTimes:
        # a new generation each time: a rewrite that did nothing is caught (GEN-02)
        content = content_of(self.work, self.rules.seed, number + 1)
        self._flush()
        done = self._pass("rewrite", self._payload(content))
        verify_written(self.target, self.work, content)
        return done.times

    def _read_round(self, _number: int) -> RankTimes:
        content = content_of(self.work, self.rules.seed, 0)
        room = make_reading_room(self.target, self.work, max(self.rules.direct, LINE))
        self._flush()
        done = self._pass("read", room)
        verify_read(self.target, self.work, content, room)
        return done.times

    def _flush(self) -> None:
        """Cold before every round; the worst state of all rounds is the record's."""
        state = flush_caches(self.comm, [self.target.own_file], self.runner.fstype, self.rules.flush)
        order = ("cold", "client-cold", "unknown", "cached")
        if self.cache is None or order.index(state.state) > order.index(self.cache.state):
            self.cache = state

    def _payload(self, content: Content) -> Payload:
        table, mem = self.work.ranks[self.target.rank], self.target.pattern.mem
        if self.rules.whole_buffer or content.by != "call" or self.rules.direct:
            return whole_payload(content, self.target.rank, table, mem, max(self.rules.direct, LINE))
        return ring_payload(content, self.target.rank, table, mem)

    def _pass(self, phase: Access, payload: Payload) -> Pass:
        if self.target.pattern.api == "posix":
            done = run_posix_pass(self.target, self.work, phase, payload, self.rules.manner, direct=self.rules.direct)
        else:
            done = run_pass(self.target, self.work, phase, payload, self.rules.manner)
        leave_together(self.target, phase, done)
        if phase == self.phase:
            self.facts["acts"] = list(done.acts)
            self.facts["buffer_used_again"] = self.comm.allreduce(count_reused(payload), op=mpi.load().MAX)  # CONS-41
        return done

    def _finish(self, warmups: list[RankTimes], measured: list[RankTimes]) -> Record:
        pattern, flags = self.target.pattern, []
        cores = len(os.sched_getaffinity(0))
        on_node = self.comm.Split_type(mpi.load().COMM_TYPE_SHARED)
        if mpi.agree(self.comm, on_node.size > cores):
            flags.append("oversubscribed")  # GEN-19
        on_node.Free()
        kind: LoopTarget = "posix" if pattern.api == "posix" else "mpi"
        if self.cache is not None:
            self.facts["cache"] = {
                "state": self.cache.state,
                "resident": self.cache.resident,
                "methods": list(self.cache.methods),
                "why": self.cache.why,
            }
        self.facts |= {
            "timed": _timed(pattern, self.phase),
            "loop": choose_loop(self.rules.manner.loop, target=kind, comm=self.comm).name,
            "hints_requested": dict(self.target.hints),
            "buffer": "whole" if self.phase == "read" or self.rules.whole_buffer else "ring",
            "synced": (self.phase != "read" or pattern.metric == "job_time") and self.target.pattern.sync != "none",
            "wtime_is_global": bool(self.comm.Get_attr(mpi.load().WTIME_IS_GLOBAL)),
            "warmup_s": list(agree_samples(self.comm, warmups, as_job=pattern.metric == "job_time").elapsed_s)
            if warmups
            else [],
            "intra_barriers": self.rules.manner.intra_barriers,
            "strategy": str(self.rules.manner.strategy or "row"),
        }
        samples = agree_samples(self.comm, measured, as_job=pattern.metric == "job_time")
        fastest = max(mib_per_s(b, s) for b, s in zip(samples.moved_bytes, samples.elapsed_s, strict=True))
        if self.phase == "read" and self.rules.device_rate is not None and fastest > self.rules.device_rate:
            # residency 0 is necessary, not proof: somebody else had the data
            flags.append("faster_than_device")
        return Record(pattern, self.phase, self.comm.size, samples, self.rules.seed, {}, self.facts, tuple(flags))


def count_reused(payload: Payload) -> int:
    """How many calls use bytes of the buffer that an earlier call has used."""
    order = np.argsort(payload.positions, kind="stable")
    begins, ends = payload.positions[order], (payload.positions + payload.sizes)[order]
    return int((begins[1:] < np.maximum.accumulate(ends)[:-1]).sum()) if len(order) else 0


def _timed(pattern: Pattern, phase: Access) -> str:
    """What the clock of a record held."""
    verb = "read" if phase == "read" else "write"
    if pattern.metric == "job_time":
        return f"{verb}, sync, barrier"
    syncs = phase != "read" and pattern.sync != "none"
    return f"open, {verb}, sync, close" if syncs else f"open, {verb}, close"


def _has_known_places(pattern: Pattern) -> bool:
    """Whether the place of every byte in file and stream follows from the extent table alone."""
    return not pattern.mem.gap and (pattern.pointer != "shared" or pattern.coll)
