"""Random sizes: segmented or strided with transfers of sizes drawn at random (CONS-12, CONS-13)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from pytest_pario.model import Extents, Int64
from pytest_pario.patterns.protocol import Layout
from pytest_pario.patterns.recipe import Contiguous, Hindexed, Resized, View


@dataclass(frozen=True)
class RandomSizes(Layout):
    """Sizes drawn in the order (segment, rank, transfer); positions follow by summing, with `pad` after a segment."""

    name: ClassVar[str] = "random_sizes"

    lo: int
    """Smallest transfer; 0 allows empty calls."""
    hi: int
    """Largest transfer."""
    transfers: int = 1
    """Transfers of each rank in a segment."""
    strides: int = 1
    """Segments."""
    seed: int = 0
    start: int = 0
    """First byte of the first segment."""
    pad: int = 0
    """Bytes skipped after each segment."""

    def __post_init__(self) -> None:
        self.require_whole(1, "hi", "transfers", "strides")
        self.require_whole(0, "lo", "seed", "start", "pad")
        self.require(self.lo <= self.hi, "lo", f"at most the largest transfer of {self.hi} B")

    @property
    def ordered(self) -> bool:
        """Whether each rank makes one transfer in a segment and nothing is skipped."""
        return self.transfers == 1 and self.pad == 0

    def sizes(self, n: int) -> Int64:
        """All sizes, the same table on every rank; shape (strides, n, transfers)."""
        return _draw(self.seed, self.lo, self.hi, (self.strides, n, self.transfers))

    def period(self, n: int) -> int:
        """All segments with their padding."""
        return int(self.sizes(n).sum()) + self.strides * self.pad

    def calls(self, rank: int, n: int) -> Extents:
        """One transfer in each call."""
        sizes = self.sizes(n)
        # a segment begins after all segments before it; a transfer after all transfers before it in its segment
        segments = sizes.sum(axis=(1, 2)) + self.pad
        begins = self.start + np.cumsum(segments) - segments
        before = sizes[:, :rank].sum(axis=(1, 2))
        mine = sizes[:, rank]
        offsets = ((begins + before)[:, None] + np.cumsum(mine, axis=1) - mine).ravel()
        lengths = mine.ravel()
        bounds = np.concatenate(([0], np.cumsum(lengths > 0)))
        return Extents(offsets[lengths > 0], lengths[lengths > 0], bounds)

    def recipe(self, rank: int, n: int) -> tuple[View, ...]:
        """One indexed type with the rank's transfers of all segments."""
        flat = self.sizes(n).ravel()
        segment = np.arange(flat.size) // (n * self.transfers)
        owner = np.arange(flat.size) // self.transfers % n
        displacements = np.cumsum(flat) - flat + segment * self.pad
        mine = (owner == rank) & (flat > 0)
        indexed = Hindexed(displacements[mine], flat[mine])
        filetype = Resized(indexed, self.period(n)) if mine.any() else Contiguous(1)
        return (View(self.start, filetype, self.strides * self.transfers),)


@lru_cache(maxsize=4)
def _draw(seed: int, lo: int, hi: int, shape: tuple[int, int, int]) -> Int64:
    sizes = np.random.default_rng(seed).integers(lo, hi, size=shape, endpoint=True)
    sizes.flags.writeable = False
    return sizes
