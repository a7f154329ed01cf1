"""Scattered: the blocks of the file dealt to the ranks at random (GPFS-12..29, GPFS-33)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from pytest_pario.model import Extents, Int64
from pytest_pario.patterns.mixing import mix, mix_words
from pytest_pario.patterns.protocol import Layout
from pytest_pario.patterns.recipe import Contiguous, Hindexed, Resized, View, Views


@dataclass(frozen=True)
class Scattered(Layout):
    """Every rank is dealt as many blocks as any other, none twice; each call moves its blocks in ascending order."""

    name: ClassVar[str] = "scattered"

    block: int
    """Bytes of a block."""
    total: int
    """Blocks in the file."""
    seed: int = 0
    sub: tuple[int, int] | None = None
    """Number and bytes of the sub-blocks that are moved of each block; None moves it whole (GPFS-24)."""
    region: int = 0
    """Bytes of the file covered by one call and its view (GPFS-14); 0 where regions do not matter."""
    per_call: int = 0
    """Blocks of each call, in the order dealt (GPFS-19); 0 moves all blocks, or those of a region, in one call."""
    fraction: float = 1.0
    """Blocks dealt out of all blocks in the file (GPFS-22)."""

    def __post_init__(self) -> None:
        self.require_whole(1, "block", "total")
        self.require_whole(0, "seed", "region", "per_call")
        self.require(self.region % self.block == 0, "region", f"a multiple of the block of {self.block} B")
        self.require(not (self.region and self.per_call), "per_call", "0 where a call covers a region")
        self.require(0 < self.fraction <= 1, "fraction", "above 0 and at most 1")
        if self.sub is not None:
            count, size = self.sub
            fits = count >= 1 and size >= 1 and self.block % size == 0 and count * size <= self.block
            self.require(fits, "sub", f"a count and a size that divides the block of {self.block} B and fits into it")

    @property
    def dealt(self) -> int:
        """Blocks that all ranks together are dealt."""
        return round(self.total * self.fraction)

    @property
    def unit(self) -> int:
        """Bytes of one extent."""
        return self.sub[1] if self.sub else self.block

    @property
    def mixing(self) -> bool:
        """Whether calls have several blocks each, in the order dealt."""
        return self.per_call > 1

    def check(self, n: int) -> None:
        """Refuse a deal that does not come out even (GPFS-17)."""
        nearest = max(1, round(self.dealt / n)) * n
        text = f"so that {n} ranks are dealt as many blocks each; now {self.dealt} in all, nearest is {nearest}"
        self.require(self.dealt > 0 and self.dealt % n == 0, "total", text)

    def period(self, n: int) -> int:
        """Bytes of the file."""
        return self.total * self.block

    def share(self, rank: int, n: int) -> Int64:
        """Numbers of the rank's blocks in the order dealt, shape (dealt / n,)."""
        each = self.dealt // n
        return _deal(self.total, self.dealt, self.seed)[rank * each : (rank + 1) * each]

    def calls(self, rank: int, n: int) -> Extents:
        """Blocks or their sub-blocks, sorted inside each call."""
        blocks, bounds = self._sorted_calls(self.share(rank, n))
        offsets = blocks * self.block
        if self.sub:
            offsets = (offsets[:, None] + self._chosen(blocks) * self.unit).ravel()
            bounds = bounds * self.sub[0]
        return Extents(offsets, np.full(offsets.size, self.unit), bounds)

    def _sorted_calls(self, share: Int64) -> tuple[Int64, Int64]:
        if self.per_call:
            whole = share.size // self.per_call * self.per_call
            rows = np.sort(share[:whole].reshape(-1, self.per_call), axis=1)
            bounds = np.append(np.arange(0, share.size, self.per_call), share.size)
            return np.concatenate((rows.ravel(), np.sort(share[whole:]))), bounds
        ascending = np.sort(share)
        if not self.region:
            return ascending, np.array([0, share.size])
        regions = -(-self.total * self.block // self.region)
        edges = np.arange(regions + 1) * (self.region // self.block)
        return ascending, np.searchsorted(ascending, edges)

    def recipe(self, rank: int, n: int) -> Sequence[View]:
        """One indexed type for each call; its displacements are counted from the beginning of the region."""
        share, size = self.share(rank, n), self.period(n)
        if self.per_call:
            firsts = range(0, share.size, self.per_call)
            chosen = [1] * len(firsts)
            return Views(chosen, lambda i: self._view(share[firsts[i] : firsts[i] + self.per_call], 0, size))
        width = self.region or size
        starts = range(0, size, width)

        def make(number: int) -> View:
            # to select the blocks of a region belongs to its view, and to what is timed with it (GPFS-14)
            begin, end = starts[number], min(starts[number] + width, size)
            mine = share[(share >= begin // self.block) & (share < end // self.block)]
            return self._view(mine, begin, end - begin)

        return Views([1] * len(starts), make)

    def _view(self, blocks: Int64, start: int, extent: int) -> View:
        """The view of some blocks; plain bytes where there are none."""
        if not blocks.size:
            return View(start, Contiguous(1), 1)
        slots = self._chosen(blocks) if self.sub else np.zeros((blocks.size, 1), dtype=np.int64)
        units = np.sort(blocks[:, None] * (self.block // self.unit) + slots, axis=None)
        indexed = Hindexed(units * self.unit - start, np.full(units.size, self.unit))
        return View(start, Resized(indexed, extent), 1)

    def _chosen(self, blocks: Int64) -> Int64:
        """Numbers of the sub-blocks chosen in each block, ascending; shape (blocks, chosen) (GPFS-29)."""
        assert self.sub is not None
        count, size = self.sub
        return _choose(blocks, self.block // size, count, mix(self.seed))


@lru_cache(maxsize=1)
def _deal(total: int, dealt: int, seed: int) -> Int64:
    """The same deal on every rank (GEN-10)."""
    dealt_blocks = np.random.default_rng(seed).permutation(total)[:dealt].astype(np.int64, copy=False)
    dealt_blocks.flags.writeable = False
    return dealt_blocks


def _choose(blocks: Int64, slots: int, count: int, key: int) -> Int64:
    """Choose `count` of the slots of each block without replacement, a function of key and block only."""
    chosen = np.empty((blocks.size, count), dtype=np.int64)
    step = max(1, (1 << 20) // slots)
    for first in range(0, blocks.size, step):
        numbers = blocks[first : first + step, None] * slots + np.arange(slots)
        words = mix_words(numbers.astype(np.uint64) + np.uint64(key))
        order = np.argpartition(words, count - 1, axis=1)[:, :count]
        chosen[first : first + step] = np.sort(order, axis=1)
    return chosen
