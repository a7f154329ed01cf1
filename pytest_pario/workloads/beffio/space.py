"""How free space is shared out: once, before the first file, among partitions, types and patterns. Pure (GEN-16)."""

from __future__ import annotations

from pytest_pario.workloads.beffio.averages import Definition
from pytest_pario.workloads.beffio.table import TYPES, Row, rows_of

RUN_SHARE = 0.8
"""Part of the free space that the files of a run may take; the rest is for others, and for copies on write."""


def type_room(free_bytes: int, definition: Definition, partitions: int, *, keep: bool) -> int:
    """Most bytes of the files of one type in one partition.

    Release 2.0 writes everything before it reads, and a file goes when it was read: all files are there at once.
    Release 1.x has read one partition before the next begins.
    """
    together = partitions if definition == "2.0" or keep else 1
    return int(RUN_SHARE * free_bytes) // (together * len(TYPES))


def pattern_room(type_bytes: int, written_bytes: int, row: Row) -> int:
    """Most bytes of a time-driven pattern: by its units, of what those before it left of the room of the type."""
    coming = sum(one.units for one in rows_of(row.type) if one.number >= row.number)
    return max(0, type_bytes - written_bytes) * row.units // coming
