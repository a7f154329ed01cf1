"""What was measured of patterns and types, as plain data; equal on all ranks. Pure (BEFF-29, BEFF-34)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_pario.measure.repetition import Termination
from pytest_pario.model import Access
from pytest_pario.units import MB
from pytest_pario.workloads.beffio.table import ROWS, TYPES, Row, rows_of

OVERHEAD_LIMIT = 0.1
"""Barrier and broadcast have to be ten times cheaper than one access (BEFF-25)."""

PAUSED_SHARE = 0.1
"""More time beside a pattern than this share of its own is flagged."""

ONE_JOB = "one job for all of it"
"""What is missing where a value would be made from the parts of several jobs."""


@dataclass(frozen=True)
class PatternResult:
    """One pattern of one access method in one partition."""

    n: int
    access: Access
    number: int
    scheduled_s: float
    """T_p; 0 where the number of calls is given."""
    chunk_bytes: int
    call_bytes: int
    repetitions: int
    moved_bytes: int
    elapsed_s: float
    """t_pat of the slowest process, from barrier to barrier."""
    io_s: float
    barrier_s: float
    broadcast_s: float
    sync_s: float
    last_call_s: float
    """Time of one call in the last batch."""
    last_decision_s: float
    """Time of the last barrier and broadcast."""
    decisions: int
    open_s: float | None = None
    """With the first pattern of a type: barrier, open, barrier."""
    close_s: float | None = None
    """With the last one: close, barrier."""
    hints: Mapping[str, Any] = field(default_factory=dict)
    """Requested at open and with the pattern, and in force after it (BEFF-57)."""
    flags: tuple[str, ...] = ()
    run: str = ""
    """The job that measured it."""
    file_bytes: int = 0
    """Size of the file: of one process in type 2; after this pattern while types 0 to 2 are first written (BEFF-66)."""
    lost_s: float | None = None
    """Barriers and broadcasts of the process that spent most in them; None in results of older files."""

    aside_s: float = 0.0
    """Between its first and last call, while the clock stood: of reads, what was read is verified meanwhile."""

    @property
    def row(self) -> Row:
        """Its row of the table."""
        return ROWS[self.number]

    @property
    def rate(self) -> float:
        """MB/s, n * L * r / t_pat (OQ-15: 10^6)."""
        return self.moved_bytes / self.elapsed_s / MB

    @property
    def is_paused(self) -> bool:
        """Whether the storage had a pause, in which to read ahead, that matters beside the time that counts."""
        return self.aside_s > PAUSED_SHARE * self.elapsed_s

    @property
    def decision_ratio(self) -> float | None:
        """Cost of one decision against one access; None where time decided nothing (BEFF-25)."""
        return self.last_decision_s / self.last_call_s if self._is_decided and self.last_call_s > 0 else None

    @property
    def decision_share(self) -> float | None:
        """Cost of all decisions against all accesses; None where time decided nothing (BEFF-26)."""
        return self.decisions * self.last_decision_s / self.io_s if self._is_decided and self.io_s > 0 else None

    @property
    def _is_decided(self) -> bool:
        return self.decisions > 0 and self.row.units > 0

    def breaks_overhead_rule(self, termination: Termination) -> bool:
        """Whether deciding was not ten times cheaper than what it decided about (BEFF-25).

        That is one access where every access is followed by a decision, and all accesses where batches grow.
        """
        ratio = self.decision_ratio if termination == "per_call" else self.decision_share
        return ratio is not None and ratio > OVERHEAD_LIMIT

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        return {**dataclasses.asdict(self), "flags": list(self.flags)}

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> PatternResult:
        """From plain data, which may hold more."""
        known = {one.name: data[one.name] for one in dataclasses.fields(cls) if one.name in data}
        return cls(**{**known, "flags": tuple(data["flags"])})


@dataclass(frozen=True)
class TypeResult:
    """All patterns of one type between open and close; a value only where none is missing (BEFF-29)."""

    n: int
    access: Access
    kind: int
    patterns: tuple[PatternResult, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """What was not measured."""
        found = {one.number for one in self.patterns}
        names = [row.name for row in rows_of(self.kind) if row.number not in found]
        if not names:
            opens, closes = ([getattr(one, f"{name}_s") for one in self.patterns] for name in ("open", "close"))
            # opened or closed more than once is not one measurement
            names += ["one open"] if sum(one is not None for one in opens) != 1 else []
            names += ["one close"] if sum(one is not None for one in closes) != 1 else []
            names += [ONE_JOB] if len({one.run for one in self.patterns}) > 1 else []
        if "derived_incomplete" in self.flags:
            names.append("the repetitions of types 0 to 2")
        return tuple(names)

    @property
    def open_s(self) -> float | None:
        """Seconds of opening."""
        return next((one.open_s for one in self.patterns if one.open_s is not None), None)

    @property
    def close_s(self) -> float | None:
        """Seconds of closing."""
        return next((one.close_s for one in self.patterns if one.close_s is not None), None)

    @property
    def moved_bytes(self) -> int:
        """Bytes of all patterns, U=0 and fill included."""
        return sum(one.moved_bytes for one in self.patterns)

    @property
    def elapsed_s(self) -> float:
        """From open to close."""
        return (self.open_s or 0.0) + sum(one.elapsed_s for one in self.patterns) + (self.close_s or 0.0)

    @property
    def value(self) -> float | None:
        """MB/s over the time from opening to closing, all chunk sizes together; None where something is missing."""
        return None if self.missing else self.moved_bytes / self.elapsed_s / MB

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags of its patterns."""
        return tuple(sorted({flag for one in self.patterns for flag in one.flags}))


@dataclass(frozen=True)
class Results:
    """Everything that one run has measured so far."""

    patterns: tuple[PatternResult, ...] = ()

    def of_type(self, n: int, access: Access, kind: int) -> TypeResult:
        """One type of one access method in one partition, complete or not."""
        wanted = {row.number for row in rows_of(kind)}
        found = (one for one in self.patterns if (one.n, one.access) == (n, access) and one.number in wanted)
        return TypeResult(n, access, kind, tuple(sorted(found, key=lambda one: one.number)))

    def type_values(self, n: int) -> dict[tuple[Access, int], float]:
        """Values of all complete types of a partition, for the averages."""
        keys = {(one.access, one.row.type) for one in self.patterns if one.n == n}
        values = {key: self.of_type(n, *key).value for key in keys}
        return {key: value for key, value in values.items() if value is not None}

    def moved_bytes(self, n: int, access: Access, kinds: Sequence[int] = range(len(TYPES))) -> int:
        """Bytes of one access method in one partition, of all types or of some."""
        found = (one for one in self.patterns if (one.n, one.access) == (n, access))
        return sum(one.moved_bytes for one in found if one.row.type in kinds)


def collect(found: Iterable[Mapping[str, Any]]) -> Results:
    """Results from plain data; of the same pattern the last one counts."""
    by_key = {(one["n"], one["access"], one["number"]): PatternResult.from_plain(one) for one in found}
    return Results(tuple(by_key.values()))
