"""From scattered pieces to the few runs in which an agent touches the file. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_pario.model import Int64
from pytest_pario.schemes.ranges import NONE

SIEVE_GAP = 4096
"""Holes of up to a page cost less to move along than a call of their own."""


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


def lay_runs(offsets: Int64, lengths: Int64, blocks: Int64, gap: int = SIEVE_GAP, *, join: bool = True) -> Runs:
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
