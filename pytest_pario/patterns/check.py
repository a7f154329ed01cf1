"""What can be said of any layout from its extent table alone (MODEL-03)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pytest_pario.model import Extents, Int64


def total_bytes(tables: Sequence[Extents]) -> int:
    """Bytes moved by all ranks; bytes that two ranks move count twice."""
    return sum(table.total_bytes for table in tables)


def file_size(tables: Sequence[Extents]) -> int:
    """Bytes from the beginning of the file to the last one touched."""
    return max((table.end for table in tables), default=0)


@dataclass(frozen=True)
class Overlap:
    """Two extents that share a byte."""

    offset: int
    ranks: tuple[int, int]


def find_overlap(tables: Sequence[Extents]) -> Overlap | None:
    """The first byte that is moved twice, and by whom; None where every byte is moved at most once."""
    offsets, ends, ranks = _ascending(tables)
    # the first extent that begins before an earlier one has ended begins before its predecessor has
    clashes = np.flatnonzero(offsets[1:] < ends[:-1])
    if not clashes.size:
        return None
    first = int(clashes[0])
    return Overlap(int(offsets[first + 1]), (int(ranks[first]), int(ranks[first + 1])))


def find_holes(tables: Sequence[Extents], size: int | None = None) -> tuple[Int64, Int64]:
    """Offsets and lengths of what nobody touches before `size` or the end of the last extent; shape (holes,) each."""
    offsets, ends, _ = _ascending(tables)
    end = file_size(tables) if size is None else size
    reach = np.minimum(np.concatenate(([0], np.maximum.accumulate(ends))), end)
    begins = np.minimum(np.concatenate((offsets, [end])), end)
    is_hole = begins > reach
    return reach[is_hole], (begins - reach)[is_hole]


def is_tiling(tables: Sequence[Extents]) -> bool:
    """Whether every byte of the file is moved exactly once."""
    return find_overlap(tables) is None and not find_holes(tables)[0].size


def is_ascending(table: Extents) -> bool:
    """Whether the extents of each call ascend without overlap, as MPI demands of a file view."""
    follows = table.offsets[1:] >= (table.offsets + table.lengths)[:-1]
    starts_call = np.zeros(len(table.offsets) + 1, dtype=bool)
    starts_call[table.bounds] = True
    return bool((follows | starts_call[1:-1]).all())


def count_unaligned(table: Extents, unit: int) -> int:
    """Extents that do not begin, or do not end, on a multiple of `unit`."""
    return int(np.count_nonzero((table.offsets % unit != 0) | ((table.offsets + table.lengths) % unit != 0)))


def shares_block(table: Extents, unit: int) -> bool:
    """Whether two successive extents touch the same file block of `unit` bytes (GPFS-31)."""
    last = (table.offsets + table.lengths - 1) // unit
    return bool((table.offsets[1:] // unit == last[:-1]).any())


def coalesce(table: Extents) -> Extents:
    """The same bytes in the fewest extents: what is adjacent in one call becomes one."""
    if not len(table.offsets):
        return table
    begins = np.ones(len(table.offsets), dtype=bool)
    begins[1:] = table.offsets[1:] != (table.offsets + table.lengths)[:-1]
    # an empty call at the end of the table begins no extent
    begins[table.bounds[table.bounds < len(begins)]] = True
    first = np.flatnonzero(begins)
    lengths = np.add.reduceat(table.lengths, first)
    return Extents(table.offsets[first], lengths, np.searchsorted(first, table.bounds))


def are_equal(one: Extents, other: Extents) -> bool:
    """Whether two tables name the same bytes in the same calls and the same order."""
    one, other = coalesce(one), coalesce(other)
    names = ("offsets", "lengths", "bounds")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def _ascending(tables: Sequence[Extents]) -> tuple[Int64, Int64, Int64]:
    """Offsets, ends and ranks of all extents, sorted by offset."""
    none = np.empty(0, np.int64)
    offsets = np.concatenate([none, *(table.offsets for table in tables)])
    lengths = np.concatenate([none, *(table.lengths for table in tables)])
    ranks = np.repeat(np.arange(len(tables)), [len(table.offsets) for table in tables])
    order = np.argsort(offsets, kind="stable")
    return offsets[order], (offsets + lengths)[order], ranks[order]
