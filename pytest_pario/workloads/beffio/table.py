"""The 43 patterns of b_eff_io as one table. Pure (BEFF-06..12)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_pario.errors import ParameterError
from pytest_pario.units import KiB, MiB

TypeName = Literal["scatter", "shared", "separated", "segmented", "seg_coll"]
TYPES: tuple[TypeName, ...] = ("scatter", "shared", "separated", "segmented", "seg_coll")
"""Pattern types 0 to 4 by number (BEFF-06)."""

MPART = -1
"""Stands in the table for the size that depends on memory."""
FILL = 0
"""Stands in the table for the size that fills a segment (BEFF-19)."""


@dataclass(frozen=True)
class Row:
    """One numbered pattern."""

    number: int
    type: int
    chunk: int
    """Contiguous bytes on disk, l; MPART or FILL where the size is known later only."""
    call: int
    """Bytes of one call in memory, L."""
    units: int
    """Share of the time, U; 0 is exactly one call, which hides the effects of starting."""
    label: str
    """The chunk size as people write it: 1k, 32k+8, 1M, MPART, fill."""

    @property
    def name(self) -> str:
        """Name of the pattern, the same in every run."""
        return f"p{self.number:02d}"

    @property
    def kind(self) -> TypeName:
        """Name of the pattern type."""
        return TYPES[self.type]

    def chunk_bytes(self, mpart: int) -> int:
        """Bytes of l on a machine with this MPART."""
        return mpart if self.chunk == MPART else self.chunk

    def call_bytes(self, mpart: int) -> int:
        """Bytes of L on a machine with this MPART."""
        return mpart if self.call == MPART else self.call


K, M = KiB, MiB
# fmt: off
SCATTER = (  # l, L, U, label: the strided collective type has more than one chunk in a call
    (1 * M,      1 * M,         0, "1M"),
    (MPART,      MPART,         4, "MPART"),
    (1 * M,      2 * M,         4, "1Mx2"),
    (1 * M,      1 * M,         4, "1M"),
    (32 * K,     1 * M,         2, "32k"),
    (1 * K,      1 * M,         2, "1k"),
    (32 * K + 8, 1 * M + 256,   2, "32k+8"),
    (1 * K + 8,  1 * M + 8 * K, 2, "1k+8"),
    (1 * M + 8,  1 * M + 8,     2, "1M+8"),
)
SINGLE = (  # l = L
    (1 * M,      0, "1M"),
    (MPART,      2, "MPART"),
    (1 * M,      2, "1M"),
    (32 * K,     1, "32k"),
    (1 * K,      1, "1k"),
    (32 * K + 8, 1, "32k+8"),
    (1 * K + 8,  1, "1k+8"),
    (1 * M + 8,  2, "1M+8"),
)
# fmt: on


def _rows() -> tuple[Row, ...]:
    columns: list[tuple[int, int, int, int, str]] = [(0, *row) for row in SCATTER]
    for kind in (1, 2, 3, 4):
        for chunk, units, label in SINGLE:
            # the shared pointer gets 4 units for MPART in place of 2
            columns.append((kind, chunk, chunk, 4 if kind == 1 and chunk == MPART else units, label))
        if kind >= 3:
            columns.append((kind, FILL, FILL, 0, "fill"))
    return tuple(Row(number, *column) for number, column in enumerate(columns))


ROWS = _rows()
"""All patterns; the number is the index."""

CHUNK_LABELS = ("1k", "1k+8", "32k", "32k+8", "1M", "1M+8", "MPART")
"""Rows of the tables of a report, ascending (BEFF-62)."""


def rows_of(kind: int) -> tuple[Row, ...]:
    """The patterns of one type, in order."""
    return tuple(row for row in ROWS if row.type == kind)


def is_tabled(row: Row) -> bool:
    """Whether a pattern has a place in the tables by chunk size: all with a share of time, but for p2 (BEFF-62)."""
    return row.units > 0 and row.label in CHUNK_LABELS


def type_number(name: str) -> int:
    """Number of a type by its name."""
    if name not in TYPES:
        raise ParameterError("pattern type", name, f"one of {', '.join(TYPES)}")
    return TYPES.index(name)


LEAST_MEMORY_MIB, MOST_MEMORY_MIB = 256, 131072


def mpart_of(memory_mib: int, max_chunk: int | None = None) -> int:
    """Bytes of MPART for so much memory of one process, never more than `max_chunk` (BEFF-07, BEFF-08)."""
    if memory_mib < 1:
        raise ParameterError("memory of a process", memory_mib, "1 MiB or more")
    # MPART = max(2 MiB, memory / 128); 1 MiB / 128 = 8192
    mpart = 8192 * min(max(memory_mib, LEAST_MEMORY_MIB), MOST_MEMORY_MIB)
    return mpart if max_chunk is None else min(mpart, max(max_chunk // 8 * 8, 8))
