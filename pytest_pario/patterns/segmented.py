"""Segmented: each rank has one stretch of the file to itself (CONS-10, BEFF-16..19, GPFS-08)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pytest_pario.model import Extents
from pytest_pario.patterns.protocol import LARGEST, Layout
from pytest_pario.patterns.recipe import Contiguous, View


@dataclass(frozen=True)
class Segmented(Layout):
    """Rank c has [c*segment, (c+1)*segment) and moves its chunks one after the other, one call each."""

    name: ClassVar[str] = "segmented"

    segment: int
    """Bytes of each rank; 0 where the rank has a file of its own."""
    chunks: tuple[int, ...]
    """Bytes of each call, in order; 0 is an empty call (BEFF-19)."""
    start: int = 0
    """Position of the first chunk in the segment."""
    count: int = 1
    """How often the chunks are moved, one set after the other."""

    def __post_init__(self) -> None:
        self.require_whole(0, "segment", "start")
        self.require_whole(1, "count")
        sizes_fit = bool(self.chunks) and all(isinstance(c, int) and 0 <= c <= LARGEST for c in self.chunks)
        self.require(sizes_fit, "chunks", "one or more sizes of 0 or more bytes")
        fits = not self.segment or self.start + self.count * sum(self.chunks) <= self.segment
        self.require(fits, "segment", f"{self.start + self.count * sum(self.chunks)} B or more, to hold all chunks")

    def check(self, n: int) -> None:
        """Refuse to put several ranks in the same place."""
        self.require(bool(self.segment) or n == 1, "segment", "positive in a file of several ranks")

    def period(self, n: int) -> int:
        """Bytes of one rank's chunks: a repetition goes on inside the segment."""
        return self.count * sum(self.chunks)

    def limit(self, n: int) -> int | None:
        """Bytes of the segment."""
        return self.segment - self.start if self.segment else None

    def calls(self, rank: int, n: int) -> Extents:
        """Chunks one after the other."""
        lengths = np.tile(np.asarray(self.chunks, dtype=np.int64), self.count)
        offsets = rank * self.segment + self.start + np.cumsum(lengths) - lengths
        bounds = np.concatenate(([0], np.cumsum(lengths > 0)))
        return Extents(offsets[lengths > 0], lengths[lengths > 0], bounds)

    def recipe(self, rank: int, n: int) -> tuple[View, ...]:
        """Plain bytes from the rank's first one on."""
        return (View(rank * self.segment + self.start, Contiguous(1), self.count * len(self.chunks)),)
