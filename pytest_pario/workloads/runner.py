"""Run one pattern and phase: prepare, rehearse, measure, verify, record. The same line for every suite."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pytest_pario import mpi
from pytest_pario.access.executor import PLAIN, Manner, Pass, leave_together, rehearse, run_pass, run_timed_pass
from pytest_pario.access.posix import run_posix_pass
from pytest_pario.access.target import Target, prepare_new, remove_files, require_deleted, require_space
from pytest_pario.access.verification import cross_read, make_reading_room, verify_read, verify_written
from pytest_pario.environment.load import HostsLoad
from pytest_pario.errors import ParameterError
from pytest_pario.measure.cache import FlushRule, evict, flush_caches, look
from pytest_pario.measure.clock import RankTimes, agree_samples
from pytest_pario.model import Access, Fixed, Pattern, Plan, Record, Timed
from pytest_pario.patterns.memory import spans
from pytest_pario.patterns.payload import Payload, ring_payload, whole_payload
from pytest_pario.patterns.planning import plan
from pytest_pario.patterns.stamp import LINE, PERIOD, Content, content_of
from pytest_pario.units import GiB, format_bytes
from pytest_pario.workloads.account import Account
from pytest_pario.workloads.delegation import settle
from pytest_pario.workloads.hints import check_hints

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
    intra_barriers: bool = False
    """Barriers between open, I/O and close, beside what the manner says (an option of CONS-25)."""
    direct: int = 0
    """Alignment for O_DIRECT with api=posix; 0 is buffered."""
    device_rate: float | None = None
    """MiB/s that the device can plausibly deliver; a faster read is flagged."""
    whole_buffer: bool = False
    """No byte of the buffer is used twice in one pass (CONS-41)."""
    keep: bool = False
    """Leave the files behind."""
    keep_on_error: bool = False
    """Leave the files of a run that fails behind (GEN-16)."""
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
        rules = self.rules
        _refuse_ignored(pattern, rules)
        _refuse_lonely(pattern, rules.manner)
        work = plan(pattern, self.comm.size)
        hints = {**rules.hints, **pattern.hints.on_open}
        for given in (hints, pattern.hints.per_chunk):
            check_hints(given)  # GEN-13
        settings = settle(self.comm, pattern, rules.strategy, hints, self.directory)
        barriers = rules.intra_barriers or rules.manner.intra_barriers
        manner = dataclasses.replace(rules.manner, strategy=settings, intra_barriers=barriers)
        target = Target(self.comm, pattern, self.directory / pattern.name, hints, pattern.hints.per_chunk)
        self._check(target, work, phase)
        failed = True
        try:
            record = _Measurement(self, dataclasses.replace(rules, manner=manner), target, work, phase).record()
            failed = False
            return record
        finally:
            if not (rules.keep or (failed and rules.keep_on_error)):
                remove_files(target)

    def _check(self, target: Target, work: Plan, phase: Access) -> None:
        """Refuse before any I/O what cannot be done, on all ranks alike."""
        needed = max(self.comm.allgather(buffer_bytes(self.rules, work, target.rank, phase)))
        if needed > self.rules.memory_limit:
            limit = format_bytes(self.rules.memory_limit)
            name = f"{target.pattern.name}: buffers of a rank"
            raise ParameterError(name, format_bytes(needed), f"at most the memory limit {limit}", "--pario-memory")
        require_space(target, work)


def _refuse_ignored(pattern: Pattern, rules: RunRules) -> None:
    """Refuse what the runner of single rows would not carry out."""
    name = pattern.name
    if rules.direct and pattern.api != "posix":
        allowed = "0 (buffered) with api=mpiio: O_DIRECT is for api=posix"
        raise ParameterError(f"{name}: direct", rules.direct, allowed, "rules")
    if rules.direct < 0 or rules.direct & (rules.direct - 1):
        raise ParameterError(f"{name}: direct", rules.direct, "0, or an alignment that is a power of two", "rules")
    if not isinstance(pattern.repeat, Fixed | Timed):
        allowed = "fixed or timed: counts of other rows are known to a chain of them only"
        raise ParameterError(f"{name}: repeat", pattern.repeat.name, allowed)
    if pattern.after is not None:
        raise ParameterError(f"{name}: after", pattern.after, "left out: a row that is run alone begins its file")


def _refuse_lonely(pattern: Pattern, manner: Manner) -> None:
    """Refuse barriers before calls that one rank may make, or fail to begin, without the others."""
    together = pattern.api == "mpiio" and pattern.files == "shared" and not pattern.open.alone
    if manner.call_barriers and not (together and isinstance(pattern.repeat, Fixed)):
        allowed = "false, unless all ranks open one file together with MPI-IO and repeat a fixed number of times"
        raise ParameterError(f"{pattern.name}: call_barriers", True, allowed, "rules")


def buffer_bytes(rules: RunRules, work: Plan, rank: int, phase: Access) -> int:
    """Bytes that the buffers of a rank take at most at one time, before they are made."""
    sizes = spans(work.pattern.mem, work.ranks[rank].call_bytes)
    line = max(rules.direct, LINE)
    whole = int((-(-sizes // line) * line).sum())
    if phase == "read" or takes_whole(rules, content_of(work, rules.seed, 0)):
        return whole
    return PERIOD + int(sizes.max(initial=0))


def takes_whole(rules: RunRules, content: Content) -> bool:
    """Whether what is written lies in memory side by side, in place of a ring."""
    return rules.whole_buffer or content.by != "call" or bool(rules.direct)


class _Measurement:
    """One phase of one pattern."""

    def __init__(self, runner: Runner, rules: RunRules, target: Target, work: Plan, phase: Access) -> None:
        self.rules, self.target, self.work, self.phase = rules, target, work, phase
        self.comm, self.fstype = runner.comm, runner.fstype
        self.account = Account(target, phase)
        self.last_round = rules.warmup_rounds + rules.rounds - 1

    def record(self) -> Record:
        """Run all rounds and put together what is saved."""
        self._prepare()
        one_round: Callable[[int], RankTimes] = {
            "write": self._write_round,
            "rewrite": self._rewrite_round,
            "read": self._read_round,
        }[self.phase]
        load = HostsLoad(self.comm)
        times = [one_round(number) for number in range(self.last_round + 1)]
        self.account.add_load(load.stop())
        if self.rules.cross and not self.target.pattern.open.delete_on_close:
            self._read_across()
        return self._finish(times[: self.rules.warmup_rounds], times[self.rules.warmup_rounds :])

    def _prepare(self) -> None:
        """Bring the file to where the rounds begin; bad arguments end here, on all ranks."""
        if isinstance(self.target.pattern.repeat, Timed):
            self._choose_repetitions(self.target.pattern.repeat)
        self.account.add_allocation(prepare_new(self.target, self.work))
        mpiio = self.target.pattern.api == "mpiio"
        if self.phase != "write":
            if mpiio and self.target.view_hints:
                # a collective buffer that grows after open would be written past its end (MPICH 5.0.2)
                rehearse(self.target, self.work, "write")
            first = content_of(self.work, self.rules.seed, 0)
            self._pass("write", self._payload(first))
            verify_written(self.target, self.work, first)
        if mpiio:
            self.account.add_hints(rehearse(self.target, self.work, self.phase))
        if self.rules.cross and self.target.pattern.open.delete_on_close:
            self._read_across()

    def _read_across(self) -> None:
        """Read what the next rank wrote (GEN-04 c)."""
        if self.phase == "read" and _has_known_places(self.target.pattern):
            cross_read(self.target, self.work, content_of(self.work, self.rules.seed, 0))

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
        self.account.facts["time_driven"] = {
            "limit_s": rule.limit_s,
            "termination": self.rules.manner.termination,
            **dataclasses.asdict(done.repeated),
            "moved_bytes": times.moved_bytes[0],
            "open_to_close_s": times.elapsed_s[0],
        }

    def _write_round(self, number: int) -> RankTimes:
        content = content_of(self.work, self.rules.seed, 0)
        self.account.add_allocation(prepare_new(self.target, self.work))
        if self.account.facts["allocation"] != "new":
            mpi.together(self.comm, "emptying page caches", lambda: evict(self.target.own_file))
            self.account.add_resident_before_write(look(self.comm, [self.target.own_file]))
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

    def _read_round(self, number: int) -> RankTimes:
        content, line = content_of(self.work, self.rules.seed, 0), max(self.rules.direct, LINE)
        room = self._make("memory for a read", lambda: make_reading_room(self.target, self.work, line))
        self._flush()
        if self.target.pattern.open.delete_on_close and number == self.last_round:
            self.target = dataclasses.replace(self.target, deleting=True)
        done = self._pass("read", room)
        verify_read(self.target, self.work, content, room)
        if self.target.deleting:
            require_deleted(self.target)
        return done.times

    def _flush(self) -> None:
        """Cold before every round."""
        self.account.add_cache(flush_caches(self.comm, [self.target.own_file], self.fstype, self.rules.flush))

    def _payload(self, content: Content) -> Payload:
        table, mem, rank = self.work.ranks[self.target.rank], self.target.pattern.mem, self.target.rank
        if takes_whole(self.rules, content):
            line = max(self.rules.direct, LINE)
            return self._make("data", lambda: whole_payload(content, rank, table, mem, line))
        return self._make("data", lambda: ring_payload(content, rank, table, mem))

    def _make(self, what: str, make: Callable[[], Payload]) -> Payload:
        """Take memory; where one rank has none left, all are told."""
        return mpi.together(self.comm, f"{self.target.pattern.name}: making {what}", make)

    def _pass(self, phase: Access, payload: Payload) -> Pass:
        if self.target.pattern.api == "posix":
            done = run_posix_pass(self.target, self.work, phase, payload, self.rules.manner, direct=self.rules.direct)
        else:
            done = run_pass(self.target, self.work, phase, payload, self.rules.manner)
        leave_together(self.target, phase, done)
        if phase == self.phase:
            again = self.comm.allreduce(count_reused(payload), op=mpi.load().MAX)  # CONS-41
            self.account.add_pass(done, again)
        return done

    def _finish(self, warmups: list[RankTimes], measured: list[RankTimes]) -> Record:
        pattern, account, calls_only = self.target.pattern, self.account, self.target.pattern.times_calls
        whole = self.phase == "read" or takes_whole(self.rules, content_of(self.work, self.rules.seed, 0))
        account.add_manner(self.rules.manner, "whole" if whole else "ring", self.rules.direct)
        if warmups:
            account.facts["warmup_s"] = list(agree_samples(self.comm, warmups, calls_only=calls_only).elapsed_s)
        samples = agree_samples(self.comm, measured, calls_only=calls_only)
        account.add_rates(samples, self.rules.device_rate)
        facts, flags = account.facts, tuple(account.flags)
        return Record(pattern, self.phase, self.comm.size, samples, self.rules.seed, {}, facts, flags)


def count_reused(payload: Payload) -> int:
    """How many calls use bytes of the buffer that an earlier call has used."""
    order = np.argsort(payload.positions, kind="stable")
    begins, ends = payload.positions[order], (payload.positions + payload.sizes)[order]
    return int((begins[1:] < np.maximum.accumulate(ends)[:-1]).sum()) if len(order) else 0


def _has_known_places(pattern: Pattern) -> bool:
    """Whether the place of every byte in file and stream follows from the extent table alone."""
    return not pattern.mem.gap and (pattern.pointer != "shared" or pattern.coll)
