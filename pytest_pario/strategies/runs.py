"""From scattered pieces to the few runs in which an agent touches the file. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_pario.model import Int64
from pytest_pario.schemes.ranges import NONE

SIEVE_GAP = 4096
"""Holes of up to a page cost less to move along than a request of their own."""
SHORT_GAP = 4 * SIEVE_GAP
"""The same where pieces are short: what is read again to write holes back is then little more than the holes."""
RUNS_AT_ONCE = 65536
"""What a list takes where no filesystem limits it, so that its description stays small."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Pieces laid side by side in a buffer, and the contiguous runs of the file that they form."""

    begins: Int64
    """File offset of each run, ascending; shape (runs,)."""
    sizes: Int64
    places: Int64
    """Where each run begins in the buffer; shape (runs,)."""
    has_holes: Int64
    """Whether a run has bytes that nobody asked for: shape (runs,), 0 or 1."""
    at: Int64
    """Where each piece begins in the buffer, in the order of the pieces; shape (pieces,)."""

    @property
    def total_bytes(self) -> int:
        """Size of the buffer."""
        return int(self.sizes.sum())

    def some(self, which: slice | npt.NDArray[np.bool_]) -> Runs:
        """Some of the runs, in the same buffer; the pieces are left out."""
        return Runs(self.begins[which], self.sizes[which], self.places[which], self.has_holes[which], NONE)

    def lists(self, most_runs: int, most_bytes: int) -> Iterator[Runs]:
        """The runs in lists of so many runs and bytes at most; a run that is longer is a list of its own."""
        ends = np.concatenate(([0], np.cumsum(self.sizes)))
        begin, count = 0, self.begins.size
        while begin < count:
            fits = int(np.searchsorted(ends, ends[begin] + most_bytes, side="right")) - 1
            end = min(begin + most_runs, max(fits, begin + 1))
            yield self.some(slice(begin, end))
            begin = min(end, count)


def sieve_gap(lengths: Int64) -> int:
    """The longest hole that is moved along between pieces of these lengths."""
    is_short = lengths.size > 0 and int(lengths.sum()) <= SIEVE_GAP * lengths.size
    return SHORT_GAP if is_short else SIEVE_GAP


def lay_runs(offsets: Int64, lengths: Int64, blocks: Int64, gap: int, *, join: bool = True) -> Runs:
    """Join pieces that touch, or that have a hole of at most `gap` between them inside one block.

    An agent has its blocks to itself, so that it may move along the holes inside of them; never across a border.
    Without `join` only pieces that overlap are one run.
    """
    if not offsets.size:
        return Runs(NONE, NONE, NONE, NONE, NONE)
    ascending = bool((offsets[1:] >= offsets[:-1]).all())
    order = np.arange(offsets.size) if ascending else np.argsort(offsets, kind="stable")
    begins, numbers = offsets[order], blocks[order]
    reach = np.maximum.accumulate(begins + lengths[order])
    holes = begins[1:] - reach[:-1]
    bridged = (holes > 0) & (holes <= gap) & (numbers[1:] == numbers[:-1]) & join
    fresh = np.ones(begins.size, dtype=bool)
    fresh[1:] = (holes >= (1 if join else 0)) & ~bridged
    first = np.flatnonzero(fresh)
    starts, ends = begins[first], reach[np.append(first[1:], begins.size) - 1]
    places = np.cumsum(ends - starts) - (ends - starts)
    run = np.cumsum(fresh) - 1
    at = np.empty_like(offsets)
    at[order] = begins - starts[run] + places[run]
    with_holes = np.zeros(starts.size, dtype=np.int64)
    with_holes[run[1:][bridged]] = 1
    return Runs(starts, ends - starts, places, with_holes, at)
