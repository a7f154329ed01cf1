"""When what is measured: the time of each pattern and the order of the experiments. Pure (BEFF-22, 23, 50, 51)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_pario.model import Access
from pytest_pario.workloads.beffio.averages import ACCESSES, Definition
from pytest_pario.workloads.beffio.table import ROWS, TYPES, Row, rows_of

RewriteRule = Literal["type0", "all"]

WRITE_UNITS = sum(row.units for row in ROWS)
"""64: all patterns of one access method."""
SCATTER_UNITS = sum(row.units for row in rows_of(0))
"""22: those of type 0."""


ALL_REWRITES = 1.5
"""Release 2.0 with all rewrites is scheduled for 45 min in place of 30 (BEFF-51)."""
PARTITION_SECONDS_1, TOTAL_SECONDS_2 = 15 * 60, 30 * 60
"""Least T for a comparison: of each partition in release 1.x, of all together in release 2.0 (BEFF-41, OQ-2)."""


def rewrite_rule(definition: Definition, asked: RewriteRule) -> RewriteRule:
    """Which rewrites are run: release 1.x always runs all (BEFF-36)."""
    return "all" if definition == "1.x" else asked


def stretch(definition: Definition, rewrite: RewriteRule) -> float:
    """How much longer a run is scheduled than one with the rewrites that its definition needs (BEFF-51)."""
    return ALL_REWRITES if definition == "2.0" and rewrite == "all" else 1.0


def wanted_seconds(definition: Definition, rewrite: RewriteRule) -> float:
    """Least T of a run that is to be compared, as `--pario-time` takes it."""
    least = PARTITION_SECONDS_1 if definition == "1.x" else TOTAL_SECONDS_2
    return least * stretch(definition, rewrite)


def shares(definition: Definition, rewrite: RewriteRule) -> int:
    """S: units of time of one partition (BEFF-22, BEFF-23)."""
    # 1.x: 64 * 3; 2.0: 64 + 22 + 64 with the rewrite of type 0 only, else 64 * 3
    everything = rewrite_rule(definition, rewrite) == "all"
    return WRITE_UNITS * 3 if everything else WRITE_UNITS * 2 + SCATTER_UNITS


def partition_seconds(definition: Definition, total_s: float, partitions: int) -> float:
    """T_n: release 2.0 spreads T over the partitions, release 1.x gives it to each (BEFF-23)."""
    return total_s / partitions if definition == "2.0" else total_s


LIMIT_FACTOR = 10
"""A whole partition may take four times its schedule (BEFF-28), and every byte of a pattern is verified besides."""


def pattern_limit_s(partition_s: float, otherwise_s: float) -> float:
    """When one pattern counts as hanging: never before the limit that holds otherwise, of which 0 is none.

    Syncs, rewrites, reads and types 3 and 4 are not driven by time: a single one may take as long as all that is.
    """
    return max(otherwise_s, LIMIT_FACTOR * partition_s) if otherwise_s else 0.0


@dataclass(frozen=True)
class Step:
    """One pattern of one access method in one partition: one test."""

    n: int
    access: Access
    row: Row

    @property
    def key(self) -> tuple[int, Access, int]:
        """Partition, access method, pattern number."""
        return self.n, self.access, self.row.number

    @property
    def file_key(self) -> tuple[int, Access, int]:
        """Partition, access method, type: what happens between one open and its close."""
        return self.n, self.access, self.row.type

    @property
    def id(self) -> str:
        """The id of its test: `n4-write-scatter-p06-32k+8`."""
        return f"n{self.n}-{self.access}-{self.row.kind}-{self.row.name}-{self.row.label}"


def types_of(access: Access, definition: Definition, rewrite: RewriteRule) -> tuple[int, ...]:
    """Which types an access method runs: release 2.0 rewrites type 0 only (BEFF-51)."""
    if access == "rewrite" and rewrite_rule(definition, rewrite) == "type0":
        return (0,)
    return tuple(range(len(TYPES)))


def order(partitions: Sequence[int], definition: Definition, rewrite: RewriteRule) -> tuple[Step, ...]:
    """All steps in the benchmark's order (BEFF-50).

    Release 2.0 writes all partitions, then rewrites, then reads; release 1.x finishes one partition after the other.
    """
    pairs: list[tuple[int, Access]]
    if definition == "2.0":
        pairs = [(n, access) for access in ACCESSES for n in sorted(partitions)]
    else:
        pairs = [(n, access) for n in sorted(partitions) for access in ACCESSES]
    return tuple(
        Step(n, access, row)
        for n, access in pairs
        for kind in types_of(access, definition, rewrite)
        for row in rows_of(kind)
    )
