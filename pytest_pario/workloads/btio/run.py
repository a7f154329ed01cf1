"""A run of BTIO: steps with output, or replay of fields; then the read-back from cold caches (BT §7, §9).

    result = run_btio(comm, Run(find_class("A"), "full", "solved"), directory)

The time of the benchmark covers steps, output and close. What only serves verification (checksums and norms of what is
written) is taken out of it.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_pario import mpi
from pytest_pario.environment.context import Context
from pytest_pario.environment.machine import memory_available
from pytest_pario.errors import ParameterError, RemoteTaskError, SpaceError, VerificationError
from pytest_pario.measure.cache import CacheState, FlushRule, flush_caches
from pytest_pario.measure.clock import RankTimes, agree_samples
from pytest_pario.model import Samples
from pytest_pario.patterns.multipartition import Partition
from pytest_pario.units import GiB, format_bytes
from pytest_pario.workloads.btio.classes import POINT_BYTES, ProblemClass
from pytest_pario.workloads.btio.exact import Floats
from pytest_pario.workloads.btio.marks import Mark, Marker, fill, find_damage, synthetic_field
from pytest_pario.workloads.btio.outputs import FRONT, NO_OUTPUT, Output, Site, find_subtype
from pytest_pario.workloads.btio.result import Beside, BtioResult, Comparison, Mode, summed_rate
from pytest_pario.workloads.btio.solver import Solver, norms
from pytest_pario.workloads.hints import check_hints, classify_hints, group_hints

if TYPE_CHECKING:
    from mpi4py import MPI

SPARE = 1.05
"""Room that a filesystem needs beside the data."""
SOLVED_DOUBLES = 60
"""Doubles per point that a solver takes, halos and rows between sweeps included; an upper bound for large cells."""
POINT_NS = {"compiled": 100.0, "numpy": 5300.0}
"""Nanoseconds of a core for one interior point and step, about, with each engine."""
PAUSED_SHARE = 0.1
"""More time beside the read-back, or the output of replay, than this share of it is flagged."""


@dataclass(frozen=True)
class Run:
    """What is to be run."""

    problem: ProblemClass
    subtype: str
    mode: Mode = "solved"
    engine: str = "auto"
    """What computes: compiled, numpy, or the first that works."""
    seed: int = 1
    """Of the fields of replay: a file of another run is told from this one's."""
    hints: Mapping[str, str] = field(default_factory=dict)
    loop: str = "auto"
    fstype: str = "unknown"
    flush: FlushRule = field(default_factory=FlushRule)
    memory_limit: int = 4 * GiB
    keep: bool = False

    def __post_init__(self) -> None:
        find_subtype(self.subtype)
        if self.mode not in ("solved", "replay"):
            raise ParameterError("mode", self.mode, "solved or replay")
        if self.mode == "replay" and self.subtype == NO_OUTPUT:
            raise ParameterError("subtype", self.subtype, "one with output: replay does nothing else")
        check_hints(self.hints)

    @property
    def name(self) -> str:
        """Class, subtype and mode: solved and replayed results never have the same name."""
        return f"btio-{self.problem.name}-{self.subtype}-{self.mode}"

    def needed_memory(self, ranks: int) -> int:
        """Bytes that one rank takes, about."""
        points = self.problem.size**3 / ranks
        return int(points * (POINT_BYTES + (8 * SOLVED_DOUBLES if self.mode == "solved" else 0)))

    def estimated_s(self, engine: str, ranks: int) -> float:
        """Seconds of computing with a core for each rank, about; 0 in replay."""
        work = self.problem.interior * self.problem.steps if self.mode == "solved" else 0
        return work * POINT_NS[engine] * 1e-9 / ranks


def require_room(run: Run, ranks: int, directory: Path, on_node: int = 1) -> None:
    """Refuse before any I/O what does not fit into memory or onto the disk, with both figures (GEN-16)."""
    needed = run.needed_memory(ranks)
    free = memory_available(Context(directory))
    if free is not None and needed * on_node > free:
        raise SpaceError(
            f"{run.name} needs {format_bytes(needed * on_node)} of memory for {on_node} ranks on a node, "
            f"{format_bytes(free)} are free there: use a smaller class or more nodes"
        )
    if needed > run.memory_limit:
        raise SpaceError(
            f"{run.name} needs {format_bytes(needed)} of memory on each of {ranks} ranks, "
            f"{format_bytes(run.memory_limit)} are allowed (--pario-memory)"
        )
    if run.subtype == NO_OUTPUT:
        return
    facts = os.statvfs(directory)
    free, wanted = facts.f_bavail * facts.f_frsize, int(run.problem.total_bytes * SPARE)
    if wanted > free:
        raise SpaceError(
            f"{run.name} needs {format_bytes(wanted)} in {directory}, {format_bytes(free)} are free: "
            "use a smaller class or another --pario-dir"
        )


def run_btio(comm: MPI.Intracomm, run: Run, directory: Path) -> BtioResult:
    """Run, read back, verify; wrong bytes or norms and failed calls are raised on all ranks alike. Collective."""
    Partition(run.problem.size, comm.size, comm.rank)
    node = comm.Split_type(mpi.load().COMM_TYPE_SHARED)
    on_node = max(comm.allgather(node.size))
    node.Free()
    mpi.on_root(comm, lambda: require_room(run, comm.size, directory, on_node))
    return _Running(comm, run, directory).result()


class _Running:
    """One run on one rank."""

    def __init__(self, comm: MPI.Intracomm, run: Run, directory: Path) -> None:
        self.comm, self.run, self.directory = comm, run, directory
        self.problem = run.problem
        begun = time.perf_counter()
        self.partition = Partition(run.problem.size, comm.size, comm.rank)
        self.room = np.zeros(FRONT + POINT_BYTES * self.partition.points, dtype=np.uint8)
        self.bytes = self.room[FRONT:]
        self.values: Floats = self.bytes.view(np.float64)
        self.solver = Solver(run.problem, comm, run.engine) if run.mode == "solved" else None
        self.marker = Marker(run.problem, self.partition)
        self.written: list[Mark] = []
        self.facts: dict[str, Any] = {"mode": run.mode}
        self.beside: dict[str, Beside] = {}
        kind = find_subtype(run.subtype)
        self.output = None if kind is None else self._prepare(kind)
        if self.solver is not None:
            self.solver.warm_up()
        self.start_s = time.perf_counter() - begun
        self.cpu_s = 0.0

    def _prepare(self, kind: type[Output]) -> Output:
        """Remove an old file, open the new one, and see that it is new."""
        site = Site(self.comm, self.problem, self.directory, self.room, self.run.hints, self.run.loop)
        output = kind(site)
        output.remove()
        self._open(output, writes=True)
        sizes = self._sizes(output)
        if any(sizes):
            output.close()
            rank = next(number for number, size in enumerate(sizes) if size)
            text = f"it has {sizes[rank]} bytes right after it was made anew: a stale file of a former run"
            raise VerificationError(self.run.name, f"{output.path}: {text}")
        return output

    def _sizes(self, output: Output) -> list[int]:
        """Bytes of the file of each rank that keeps one; 0 of the others."""

        def look() -> int:
            return output.path.stat().st_size if output.is_keeper else 0

        return self.comm.allgather(mpi.together(self.comm, f"size of {output.path}", look))

    def _open(self, output: Output, *, writes: bool) -> None:
        begun = time.perf_counter()
        output.open(writes=writes)
        self.open_s = time.perf_counter() - begun

    def result(self) -> BtioResult:
        """Everything from the first step to the verdict."""
        try:
            write = self._write()
            read, comparisons = None, []
            if self.output is None:
                assert self.solver is not None
                self.solver.pack(self.values)
                comparisons.append(self._compare("error", self.marker.mark(self.values).sums, self.problem.error))
            else:
                self._check_sizes(self.output)
                read = self._read(self.output, comparisons)
            if self.solver is not None:
                comparisons.append(self._compare("residual", self.solver.residual_sums(), self.problem.residual))
            self._judge(comparisons)
            result = self._result(write, read, comparisons)
        except BaseException:
            # who failed alone must not wait for the others here
            if self.output is not None and not self.run.keep:
                with contextlib.suppress(OSError):
                    self.output.discard()
            raise
        if self.output is not None and not self.run.keep:
            self.output.remove()
        return result

    def _write(self) -> Samples:
        """The timed part; then what has been written is brought to the storage, timed apart."""
        steps = self._solve if self.run.mode == "solved" else self._replay
        if self.output is not None:
            # loops are chosen and compiled before the clock runs
            self.output.prepare(0)
        self.io_s = self.aside_s = self.aside_cpu_s = 0.0
        self.aside_before: list[float] = []
        self.comm.Barrier()
        begun, cpu, wtime = time.perf_counter(), time.process_time(), mpi.load().Wtime()
        steps()
        close_s = self._close() if self.output is not None else 0.0
        elapsed = time.perf_counter() - begun - self.aside_s
        # a span has no pauses: what is beside the clock is taken out of both rules of aggregation (CONS-38)
        self.cpu_s, stopped = time.process_time() - cpu - self.aside_cpu_s, mpi.load().Wtime() - self.aside_s
        sync_s = self._sync() if self.output is not None else 0.0
        if self.run.mode == "replay":
            elapsed, stopped = elapsed + sync_s, stopped + sync_s
        moved = 0 if self.output is None else len(self.bytes) * self.problem.fields
        open_s = self.open_s if self.output is not None else 0.0
        self._leave("output")
        times = RankTimes(open_s, self.io_s + close_s, sync_s, close_s, elapsed, wtime, stopped, moved)
        if self.output is not None:
            # the storage works on while a solver computes, too: that is in the time
            self._keep_beside("write", times, matters=self.run.mode == "replay")
        return agree_samples(self.comm, [times])

    def _keep_beside(self, phase: str, times: RankTimes, *, matters: bool) -> None:
        """What is known of a phase beside its samples; a disk drains, or reads ahead, while fields are marked."""
        paused = mpi.agree(self.comm, self.aside_s > PAUSED_SHARE * times.elapsed_s)
        told = self.comm.allgather((self.aside_s, times.moved_bytes, times.io_s))
        rate = summed_rate((moved, seconds) for _, moved, seconds in told)
        self.beside[phase] = Beside(max(aside for aside, *_ in told), matters and paused, rate, self._skew())

    def _skew(self) -> float:
        """Sum over all fields of how much longer than the first rank the last one was beside the clock before it."""
        each = np.diff(np.array(self.aside_before), prepend=0.0)
        longest, shortest = np.empty_like(each), np.empty_like(each)
        self.comm.Allreduce(each, longest, mpi.load().MAX)
        self.comm.Allreduce(each, shortest, mpi.load().MIN)
        return float((longest - shortest).sum())

    def _solve(self) -> None:
        assert self.solver is not None
        number, problem = 0, self.problem
        for step in range(1, problem.steps + 1):
            self.solver.step()
            if self.output is not None and (step % problem.interval == 0 or step == problem.steps):
                self._aside(self.output.prepare, number)
                self._dump(self.output, number, self.solver.pack)
                number += 1

    def _replay(self) -> None:
        assert self.output is not None
        for number in range(self.problem.fields):
            self._aside(self._make_field, number)
            self._aside(self.output.prepare, number)
            self._dump(self.output, number, None)

    def _make_field(self, number: int) -> None:
        fill(self.values, self.partition, synthetic_field(self.problem, number, self.run.seed))

    def _dump(self, output: Output, number: int, pack: Callable[[Floats], None] | None) -> None:
        """Write a field; packing belongs to output, marking to verification."""
        begun = time.perf_counter()
        if pack is not None:
            pack(self.values)
        packed = time.perf_counter()
        self._aside(lambda: self.written.append(self.marker.mark(self.values)))
        if self.run.mode == "replay":
            # who has marked its field sooner waits here, not in the call, where it would be time of output
            self._aside(self.comm.Barrier)
        self.io_s += packed - begun
        self._transfer(output, number)

    def _transfer(self, output: Output, number: int) -> None:
        self.aside_before.append(self.aside_s)
        begun = time.perf_counter()
        output.transfer(number)
        self.io_s += time.perf_counter() - begun
        self._aside(output.settle)

    def _aside(self, act: Callable[..., object], *arguments: Any) -> None:
        """Do what is not part of the benchmark's time, nor of its CPU time."""
        begun, cpu = time.perf_counter(), time.process_time()
        act(*arguments)
        self.aside_s += time.perf_counter() - begun
        self.aside_cpu_s += time.process_time() - cpu

    def _close(self) -> float:
        assert self.output is not None
        begun = time.perf_counter()
        self.output.close()
        return time.perf_counter() - begun

    def _sync(self) -> float:
        """Bring the rank's file to the storage; every rank syncs, because every node may have dirty pages."""
        assert self.output is not None
        begun = time.perf_counter()
        try:
            descriptor = os.open(self.output.path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            self.output.note(error)
        return time.perf_counter() - begun

    def _leave(self, what: str) -> None:
        """If a call failed on some rank all leave together: it with its error, the others told of it (ERR-13)."""
        errors = [] if self.output is None else self.output.errors
        failed = [rank for rank, bad in enumerate(self.comm.allgather(bool(errors))) if bad]
        if errors:
            raise errors[0]
        if failed:
            raise RemoteTaskError(f"{self.run.name} {what}", failed)

    def _check_sizes(self, output: Output) -> None:
        """A file that is too short or too long is no file of this run."""
        told = self.comm.allgather((output.is_keeper, output.file_bytes, str(output.path)))
        for found, (kept, expected, path) in zip(self._sizes(output), told, strict=True):
            if kept and found != expected:
                whole, fields = found // self.problem.field_bytes, self.problem.fields
                missing = f": {fields - whole} of {fields} fields are missing" if found < expected else ""
                text = f"{path} has {found} bytes and should have {expected}{missing}"
                raise VerificationError(self.run.name, text)

    def _read(self, output: Output, comparisons: list[Comparison]) -> Samples:
        """Void the solution, empty the caches, read all fields back by the same calls, compare (BT §9.4)."""
        cache = flush_caches(self.comm, [output.path], self.run.fstype, self.run.flush)
        self._tell_cache(cache)
        if self.solver is not None:
            self.solver.void()
        output.moved_bytes = 0
        self._open(output, writes=False)
        found: list[Mark] = []
        self.io_s = 0.0
        self.comm.Barrier()
        begun, wtime, self.aside_s, self.aside_before = time.perf_counter(), mpi.load().Wtime(), 0.0, []
        for number in range(self.problem.fields):
            self._aside(self._void)
            self._aside(output.prepare, number)
            self._aside(self.comm.Barrier)
            self._transfer(output, number)
            self._aside(lambda: found.append(self.marker.mark(self.values)))
        close_s = self._close()
        elapsed = time.perf_counter() - begun - self.aside_s
        stopped = mpi.load().Wtime() - self.aside_s
        self._leave("read-back")
        self._check_fields(output, found)
        self._compare_fields(found, comparisons)
        moved = len(self.bytes) * self.problem.fields
        times = RankTimes(self.open_s, self.io_s + close_s, 0.0, close_s, elapsed, wtime, stopped, moved)
        self._keep_beside("read", times, matters=True)
        return agree_samples(self.comm, [times])

    def _void(self) -> None:
        """No number of the buffer is one: what is not read cannot be right."""
        self.bytes.fill(0xFF)

    def _tell_cache(self, cache: CacheState) -> None:
        self.facts["cache"] = {
            "state": cache.state,
            "resident": cache.resident,
            "methods": list(cache.methods),
            "why": cache.why,
        }

    def _check_fields(self, output: Output, found: list[Mark]) -> None:
        damage = find_damage(str(output.path), self.problem, self.partition, self.written, found)
        told = [one for one in self.comm.allgather(damage) if one is not None]
        if told:
            raise VerificationError(self.run.name, min(told, key=lambda one: (one.field, one.rank)))

    def _compare_fields(self, found: list[Mark], comparisons: list[Comparison]) -> None:
        """The mean over all fields of the norms; that of replay is known since the fields were made."""
        if self.solver is not None:
            self.solver.unpack(self.values)
            expected = self.problem.delta
            if expected is None:
                self.facts["delta"] = "no value has been published for this class"
        else:
            expected = tuple(self._mean(self.written))  # type: ignore[assignment]
        comparisons.append(Comparison("delta", tuple(self._mean(found)), expected))

    def _mean(self, marks: list[Mark]) -> list[float]:
        sums = self._reduced(np.array([mark.sums for mark in marks]))
        return [float(one) for one in norms(sums, self.problem).sum(axis=0) / len(marks)]

    def _reduced(self, sums: Floats) -> Floats:
        total: Floats = np.empty_like(sums)
        self.comm.Allreduce(np.ascontiguousarray(sums), total)
        return total

    def _compare(self, name: str, sums: Floats, expected: Any) -> Comparison:
        return Comparison(name, tuple(float(one) for one in norms(self._reduced(sums), self.problem)), expected)

    def _judge(self, comparisons: list[Comparison]) -> None:
        for one in comparisons:
            if not one.holds and one.expected is not None:
                raise VerificationError(self.run.name, one)

    def _tell(self) -> tuple[str, ...]:
        """Facts of the run, and flags that limit its validity."""
        run, output = self.run, self.output
        if output is not None:
            outcome = classify_hints(run.hints, output.hints_in_force) if output.api == "mpiio" else ()
            self.facts["hints"] = group_hints(outcome)
        self.facts |= {
            "timed": "steps, output and close" if run.mode == "solved" else "output, close and sync",
            "synced": run.mode == "replay",
            "packing": "inside the time of output",
            "fields": self.problem.fields,
        }
        on_node = self.comm.Split_type(mpi.load().COMM_TYPE_SHARED)
        crowded = mpi.agree(self.comm, on_node.size > len(os.sched_getaffinity(0)))
        on_node.Free()
        flags = {"oversubscribed": crowded, "numpy-engine": self._engine_name == "numpy"}  # GEN-19
        return tuple(name for name, on in flags.items() if on)

    @property
    def _engine_name(self) -> str:
        return "none" if self.solver is None else self.solver.engine_name

    def _result(self, write: Samples, read: Samples | None, comparisons: list[Comparison]) -> BtioResult:
        kind, flags = find_subtype(self.run.subtype), self._tell()
        own = self.bytes.nbytes + (self.solver.memory_bytes if self.solver else 0)
        starts, memory, cpu = zip(*self.comm.allgather((self.start_s, own, self.cpu_s)), strict=True)
        return BtioResult(
            problem=self.problem,
            subtype=self.run.subtype,
            mode=self.run.mode,
            ranks=self.comm.size,
            conforming=kind is None or kind.conforming,
            engine=self._engine_name,
            write=write,
            read=read,
            beside=self.beside,
            cpu_s=sum(cpu),
            start_s=max(starts),
            memory_bytes=max(memory),
            comparisons=tuple(comparisons),
            facts=self.facts,
            flags=flags,
        )
