"""One partition of b_eff_io under MPI: its files, its repetitions, and one pattern after the other (BEFF-13..34)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_pario import mpi
from pytest_pario.access.chained import ChainedFile, PatternPass
from pytest_pario.access.executor import Pass, leave_together
from pytest_pario.access.target import SPARE, Target, free_bytes, remove_files, require_room
from pytest_pario.access.verification import make_reading_room, raise_together, verify_read
from pytest_pario.errors import ParioError, VerificationError
from pytest_pario.measure.cache import CacheState, FlushRule, flush_caches
from pytest_pario.measure.clock import RankTimes
from pytest_pario.model import Access, Damage, Extents, Plan
from pytest_pario.patterns.payload import Payload, ring_payload
from pytest_pario.patterns.planning import period, plan
from pytest_pario.patterns.stamp import Content
from pytest_pario.patterns.verify import merge, verify_file
from pytest_pario.units import MiB
from pytest_pario.workloads.beffio.hintfile import sendable
from pytest_pario.workloads.beffio.results import PatternResult
from pytest_pario.workloads.beffio.schedule import Step
from pytest_pario.workloads.beffio.settings import Settings
from pytest_pario.workloads.beffio.sizes import Segment, derive_segment, pattern_of, plans_of
from pytest_pario.workloads.beffio.space import pattern_room, type_room
from pytest_pario.workloads.beffio.table import Row, rows_of
from pytest_pario.workloads.beffio.validity import WARM
from pytest_pario.workloads.hints import classify_hints, group_hints

if TYPE_CHECKING:
    from mpi4py import MPI

READ_AT_ONCE = 64 * MiB
"""Least bytes that a rank reads between two looks at what it got; the clock stands still meanwhile."""
LATEST = ("last_call_s", "last_decision_s")
LIMIT_PARTS, MEMORY_PARTS = 4, 16
"""A rank reads up to these parts of its limit of memory, and of its memory, at once."""
VERIFY_AT_ONCE = 256 * MiB
"""Bytes of a file that are compared with one set of extent tables, which take up to a seventh of that."""
SEGMENTED_TYPES = 2
"""Types 3 and 4 have segments of one length."""


class NotWrittenError(ParioError):
    """The file that is to be rewritten or read does not exist: its writing was not selected, or failed."""


@dataclass(frozen=True)
class Surroundings:
    """What all partitions of a run share."""

    directory: Path
    fstype: str
    seed: int
    flush: FlushRule = field(default_factory=FlushRule)
    loop: str = "auto"
    hints: Mapping[str, str] = field(default_factory=dict)
    """Requested for every file; those of the hint options file win."""
    keep: bool = False
    run: str = ""
    """Names the job: parts of two jobs never make one value."""
    free_bytes: int | None = None
    """Free space before the first file of any partition; None where there is one partition only, which looks itself."""
    memory_limit: int = 4 * READ_AT_ONCE
    """Most memory for buffers of one rank."""


class PartitionRun:
    """The first n ranks: what they have written, and the file that is open between two patterns."""

    def __init__(self, comm: MPI.Intracomm, settings: Settings, around: Surroundings) -> None:
        """Nothing is written yet; the room for it is shared out."""
        self.comm, self.settings, self.around = comm, settings, around
        free = around.free_bytes
        free = mpi.on_root(comm, lambda: free_bytes(around.directory)) if free is None else free
        self._type_room = type_room(free, settings.definition, len(settings.partitions), keep=around.keep)
        self.counts: dict[int, int] = {}
        """Repetitions of each pattern that was written."""
        self.segment: Segment | None = None
        self.cache: CacheState | None = None
        """State of the caches before the type that is open, where they were flushed."""
        self._generation: dict[int, int] = {}
        self._open: ChainedFile | None = None
        self._open_key: tuple[int, Access, int] | None = None
        self._open_hints: dict[str, str] = {}
        self._given_up: dict[int, str] = {}
        self._limited = False
        self._reached = 0

    def run(self, step: Step, *, last: bool) -> PatternResult:
        """Run one pattern; the first of its type opens the file, the last one that was selected closes it."""
        self._require_written(step)
        try:
            if step.row.type >= 3 and self.segment is None:
                self.segment = self._derive()
            target = self._target(step)
            open_s = self._begin(step, target)
            file = self._open
            assert file is not None
            made = self._move(file, step, target, opened=open_s is not None)
            self._agree(target, step, made)
            told = self._requested(step, file)
            close_s = self._end(step, target) if last else None
            return self._result(step, made, open_s, close_s, told)
        except Exception:
            self._given_up[step.row.type] = step.id
            self.abandon()
            raise

    def abandon(self) -> None:
        """Close what is open, on all ranks together; its type stays incomplete."""
        file, self._open, self._open_key = self._open, None, None
        if file is not None and file.is_open:
            file.close()

    # --- the file -------------------------------------------------------------------------------------------------

    def _target(self, step: Step) -> Target:
        pattern = pattern_of(step.row, self.settings.shape, self.segment)
        path = self.around.directory / f"n{step.n}-{step.row.kind}"
        rules = self.settings.hints
        extra = rules.on_open(step.n, step.access, step.row.kind) if rules else {}
        return Target(self.comm, pattern, path, {**self.around.hints, **sendable(extra)})

    def _require_written(self, step: Step) -> None:
        if step.row.type in self._given_up:
            raise NotWrittenError(f"{step.id}: its file was given up when {self._given_up[step.row.type]} failed")
        if step.access != "write" and step.row.number not in self.counts:
            raise NotWrittenError(
                f"{step.id}: nothing to {step.access}: n{step.n}-write-{step.row.kind}-{step.row.name} "
                "was not run or failed; select it too"
            )

    def _begin(self, step: Step, target: Target) -> float | None:
        if self._open_key == step.file_key:
            return None
        self.abandon()
        if step.access == "write":
            remove_files(target)
        self.cache = None
        if step.access != "write" and self.settings.flush:
            self.cache = flush_caches(self.comm, [target.own_file], self.around.fstype, self.around.flush)
        delete = step.access == "read" and not self.around.keep
        file = ChainedFile(target, step.access, loop=self.around.loop, delete=delete)
        open_s = file.open()
        self._open, self._open_key, self._open_hints = file, step.file_key, dict(target.hints)
        return open_s

    def _end(self, step: Step, target: Target) -> float:
        assert self._open is not None
        close_s = self._open.close()
        self._open, self._open_key = None, None

        def look() -> str:
            if step.access == "read" or not target.is_keeper:
                return ""
            wanted, found = self._size(step), target.own_file.stat().st_size
            return "" if found == wanted else f"{target.own_file}: {found} bytes, {wanted} expected"

        problem = mpi.together(self.comm, step.id, look)
        told = [text for text in self.comm.allgather(problem) if text]
        if told:
            raise VerificationError(step.id, told[0])
        return close_s

    # --- one pattern ----------------------------------------------------------------------------------------------

    def _move(self, file: ChainedFile, step: Step, target: Target, *, opened: bool) -> PatternPass:
        row, rank = step.row, target.rank
        base = self._base(step)
        common: dict[str, Any] = {
            "base": base,
            # type 0 has a view for each pattern, the others keep that of the first one (BEFF-13..17), unless a pattern
            # in between was left out: the pointers stand at the end of the last one
            "sets_view": row.type == 0 or (row.type == 1 and self.settings.noshared) or opened or base != self._reached,
            "hints": self._at_pattern(step),
        }
        if step.access != "read":
            # other bytes with each rewrite, pattern by pattern: one that was left out still holds its old ones
            self._generation[row.number] = self._generation.get(row.number, -1) + 1 if step.access == "rewrite" else 0
        # and streams of its own for each pattern: ring positions of different patterns of one file may coincide
        content = Content(self.around.seed * 64 + row.number, self._generation[row.number])

        def ring(table: Extents) -> Payload:
            return ring_payload(content, rank, table, target.pattern.mem)

        if step.access == "write" and row.type <= 2:
            limit_s = self.settings.partition_s * row.units / self.settings.shares
            most = self._most(step, target)
            made = file.write_timed(target, ring, limit_s, self.settings.termination, most=most, **common)
            self.counts[row.number] = made.repetitions
            self._limited = row.units > 0 and made.repetitions >= most
        elif step.access == "read":
            made = file.run(
                target,
                self.counts[row.number],
                filling=lambda part: make_reading_room(target, part),
                chunk_bytes=self._read_at_once,
                after=lambda part, room: verify_read(target, part, content, room),
                **common,
            )
        else:
            if step.access == "write":
                assert self.segment is not None
                self.counts[row.number] = self.segment.count(row)
                require_room(target, self.counts[row.number] * self._each(target))
            made = file.run(target, self.counts[row.number], ring=ring, **common)
        self._reached = base + made.repetitions * period(target.pattern, self.comm.size)
        if step.access != "read" and not mpi.agree(self.comm, bool(made.errors)):
            self._verify(step, target, base, content)
        return made

    @property
    def _read_at_once(self) -> int:
        """Bytes: the more, the fewer pauses."""
        most = min(self.around.memory_limit // LIMIT_PARTS, self.settings.machine.memory_bytes // MEMORY_PARTS)
        return max(READ_AT_ONCE, most)

    def _verify(self, step: Step, target: Target, base: int, content: Content) -> None:
        """Compare what this pattern wrote, by plain reads (GEN-04)."""
        damage = mpi.together(self.comm, step.id, lambda: self._look(step, target, base, content))
        raise_together(self.comm, step.id, damage)

    def _look(self, step: Step, target: Target, base: int, content: Content) -> Damage | None:
        """What this rank finds, some repetitions after the other: extent tables of all would fill the memory."""
        each, count = self._each(target), self.counts[step.row.number]
        # of a shared view the tables of all ranks are needed, else those of the one that is looked at
        each = each if step.row.type <= 1 else each // self.comm.size
        at_once = max(1, VERIFY_AT_ONCE // max(1, each))
        parts = (
            plan(target.pattern, self.comm.size, min(at_once, count - first), base, first)
            for first in range(0, count, at_once)
        )
        return merge([self._look_at(step, target, part, content) for part in parts])

    def _look_at(self, step: Step, target: Target, work: Plan, content: Content) -> Damage | None:
        comm = self.comm
        if step.row.type <= 1:
            return verify_file(target.path, work, content, begin=work.base, exact=False, part=(comm.rank, comm.size))
        other = (comm.rank + 1) % comm.size
        begin = work.base + (other * self.segment.length if step.row.type >= 3 and self.segment else 0)
        return verify_file(target.file_of(other), work, content, rank=other, begin=begin, exact=False)

    def _agree(self, target: Target, step: Step, made: PatternPass) -> None:
        none = RankTimes(0, 0, 0, 0, 0, 0, 0, 0)
        leave_together(target, step.access, Pass(none, made.errors))

    def _base(self, step: Step) -> int:
        """D_p: where the patterns of this type that were written before end."""
        return self._extent([row for row in rows_of(step.row.type) if row.number < step.row.number])

    def _extent(self, rows: Sequence[Row]) -> int:
        """Bytes that the repetitions of these patterns cover."""
        shape, size = self.settings.shape, self.comm.size
        steps = [(self.counts.get(row.number, 0), pattern_of(row, shape, self.segment)) for row in rows]
        return sum(count * period(one, size) for count, one in steps if count)

    def _file_bytes(self, step: Step) -> int:
        """Size of the file that a pattern works on (BEFF-66)."""
        if step.row.type >= 3 and self.segment is not None:
            return self.comm.size * self.segment.length
        return self._extent(rows_of(step.row.type))

    def _each(self, target: Target) -> int:
        """Bytes of one repetition of all processes."""
        return sum(table.total_bytes for table in plan(target.pattern, self.comm.size, 1).ranks)

    def _most(self, step: Step, target: Target) -> int:
        """Repetitions that the pattern's share of the space and the limit in bytes allow, at least one (GEN-16)."""
        each, files = self._each(target), self.comm.size if target.pattern.files == "each" else 1
        room = min(pattern_room(self._type_room, self._base(step) * files, step.row), self._free())
        if self.settings.limit_bytes is not None:
            room = min(room, self.settings.limit_bytes)
        most = max(1, room // each)
        require_room(target, each)
        return most

    def _derive(self) -> Segment:
        """Repetitions and length of the segments, capped where there is no room for them (BEFF-18..20)."""
        room = min(self._type_room, self._free() // SEGMENTED_TYPES)
        limits = [room // self.comm.size, *([self.settings.max_segment] if self.settings.max_segment else [])]
        return derive_segment(self.counts, self.settings.mpart, self.settings.segment_align, min(limits))

    def _free(self) -> int:
        """Bytes that can be written now, should others have taken what was shared out."""
        return int(mpi.on_root(self.comm, lambda: free_bytes(self.around.directory)) / SPARE)

    def _size(self, step: Step) -> int:
        """Exact bytes of a file after all its patterns that were run."""
        if step.row.type >= 3 and self.segment is not None and len(self._written(step)) == len(rows_of(step.row.type)):
            return self.comm.size * self.segment.length
        plans = plans_of(step.row.type, self.comm.size, self.settings.shape, self.counts, self.segment)
        return max(table.end for one in plans for table in one.ranks)

    def _written(self, step: Step) -> list[int]:
        return [row.number for row in rows_of(step.row.type) if row.number in self.counts]

    # --- what is told ---------------------------------------------------------------------------------------------

    def _at_pattern(self, step: Step) -> dict[str, str]:
        rules = self.settings.hints
        return sendable(rules.at_pattern(step.n, step.access, step.row)) if rules else {}

    def _requested(self, step: Step, file: ChainedFile) -> dict[str, Any]:
        """Hints requested at open and with the pattern, and those in force after it (BEFF-57)."""
        at_pattern, in_force = self._at_pattern(step), file.hints_in_force()
        asked = {**self._open_hints, **at_pattern}
        told = group_hints(classify_hints(asked, in_force))
        return {"on_open": self._open_hints, "at_pattern": at_pattern, "in_force": in_force, **told}

    def _result(
        self, step: Step, made: PatternPass, open_s: float | None, close_s: float | None, hints: dict[str, Any]
    ) -> PatternResult:
        """One result for all ranks: bytes of all, seconds of the slowest."""
        names = ("elapsed_s", "io_s", "barrier_s", "broadcast_s", "lost_s", "sync_s", "aside_s", *LATEST)
        mine = [getattr(made, name) for name in names]
        told = self.comm.allgather((made.moved_bytes, open_s, close_s, *mine))
        most = {name: max(one[3 + place] for one in told) for place, name in enumerate(names)}
        row, mpart = step.row, self.settings.mpart
        fill = self.segment.fill if row.label == "fill" and self.segment else None
        result = PatternResult(
            step.n,
            step.access,
            row.number,
            self.settings.partition_s * row.units / self.settings.shares if row.type <= 2 else 0.0,
            row.chunk_bytes(mpart) if fill is None else fill,
            row.call_bytes(mpart) if fill is None else fill,
            made.repetitions,
            sum(one[0] for one in told),
            decisions=made.decisions,
            run=self.around.run,
            file_bytes=self._file_bytes(step),
            open_s=None if open_s is None else max(one[1] for one in told),
            close_s=None if close_s is None else max(one[2] for one in told),
            hints=hints,
            **most,
        )
        return dataclasses.replace(result, flags=self._flags(step, result))

    def _flags(self, step: Step, result: PatternResult) -> tuple[str, ...]:
        flags = []
        if step.access == "write" and step.row.type <= 2:
            flags += ["byte_limited"] if self._limited else []
            flags += ["loop_overhead"] if result.breaks_overhead_rule(self.settings.termination) else []
        if step.row.type >= 3 and self.segment is not None:
            flags += ["segment_capped"] if self.segment.capped else []
            flags += ["derived_incomplete"] if self.segment.missing else []
        flags += ["paused"] if result.is_paused else []
        if self.cache is not None and self.cache.state != "cold":
            flags.append(f"{WARM}{self.cache.state}")
        return tuple(flags)
