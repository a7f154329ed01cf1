"""Sets of byte ranges as two arrays, offsets and lengths: unions and cuts, without a loop over ranges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_pario.model import Extents, Int64
from pytest_pario.patterns.pieces import split

NONE = np.empty(0, dtype=np.int64)


def merge_ranges(offsets: Int64, lengths: Int64, unit: int = 0, *, join: bool = True) -> tuple[Int64, Int64]:
    """The same bytes in the fewest ascending ranges; with `unit` no range crosses a multiple of it.

    Without `join` ranges that only touch stay apart.
    """
    if not offsets.size:
        return NONE, NONE
    if unit:
        _, offsets, lengths = split(offsets, lengths, unit)
    order = np.argsort(offsets, kind="stable")
    begins, ends = offsets[order], (offsets + lengths)[order]
    reach = np.maximum.accumulate(ends)
    fresh = np.ones(begins.size, dtype=bool)
    fresh[1:] = begins[1:] >= reach[:-1] + join
    if unit:
        fresh[1:] |= begins[1:] // unit != begins[:-1] // unit
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], begins.size) - 1
    return begins[first], reach[last] - begins[first]


def union_of(requests: Sequence[Extents], unit: int = 0) -> tuple[Int64, Int64]:
    """All bytes that any process asks for, as ascending ranges."""
    offsets = np.concatenate([NONE, *(request.offsets for request in requests)])
    lengths = np.concatenate([NONE, *(request.lengths for request in requests)])
    return merge_ranges(offsets, lengths, unit)


def request(*ranges: tuple[int, int]) -> Extents:
    """The request of one process in one call, from (offset, length) pairs."""
    offsets, lengths = np.array(ranges, dtype=np.int64).reshape(-1, 2).T
    return Extents(offsets, lengths, np.array([0, offsets.size]))


def call_of(table: Extents, number: int) -> Extents:
    """What one call of a table asks for."""
    begin, end = int(table.bounds[number]), int(table.bounds[number + 1])
    return Extents(table.offsets[begin:end], table.lengths[begin:end], np.array([0, end - begin]))
