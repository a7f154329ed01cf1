"""Strided: the ranks' blocks side by side, over and over (CONS-11, BEFF-13, RES-37)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pytest_pario.model import Extents
from pytest_pario.patterns.protocol import Layout
from pytest_pario.patterns.recipe import Contiguous, Resized, View


@dataclass(frozen=True)
class Strided(Layout):
    """Segments of one block of each rank in rank order; block q of rank c begins at start + q*S + c*(block + gap)."""

    name: ClassVar[str] = "strided"

    block: int
    """Contiguous bytes of one rank."""
    per_call: int = 1
    """Blocks that one call moves."""
    ncalls: int = 1
    """Calls of one repetition, where a call moves whole blocks; segments where it moves less than one."""
    pad: int = 0
    """Bytes skipped after each segment."""
    start: int = 0
    """First byte of the first segment."""
    gap: int = 0
    """Bytes skipped after each block."""
    transfer: int = 0
    """Bytes of one call where a block takes several calls; 0 where a call moves whole blocks."""

    def __post_init__(self) -> None:
        self.require_whole(1, "block", "per_call", "ncalls")
        self.require_whole(0, "pad", "start", "gap", "transfer")
        if self.transfer:
            # CONS-22: a block is a whole number of transfers
            self.require(self.block % self.transfer == 0, "transfer", f"a divisor of the block of {self.block} B")
            self.require(self.per_call == 1, "per_call", "1 where a block takes several transfers")

    @property
    def ordered(self) -> bool:
        """Whether every call is one block and nothing is skipped."""
        whole = self.transfer in (0, self.block)
        return whole and self.per_call == 1 and self.pad == self.gap == 0

    @property
    def segments(self) -> int:
        """Segments of one repetition."""
        return self.ncalls * self.per_call

    def stride(self, n: int) -> int:
        """Distance between the starts of successive segments."""
        # S = n * (block + gap) + pad
        return n * (self.block + self.gap) + self.pad

    def period(self, n: int) -> int:
        """All segments of one repetition."""
        return self.segments * self.stride(n)

    def calls(self, rank: int, n: int) -> Extents:
        """Blocks, or transfers inside blocks, in ascending order."""
        length = self.transfer or self.block
        first = self.start + rank * (self.block + self.gap)
        segments = first + np.arange(self.segments, dtype=np.int64) * self.stride(n)
        offsets = (segments[:, None] + np.arange(0, self.block, length)).ravel()
        bounds = np.arange(0, offsets.size + 1, self.per_call)
        return Extents(offsets, np.full(offsets.size, length), bounds)

    def recipe(self, rank: int, n: int) -> tuple[View, ...]:
        """One block, resized to the stride."""
        filetype = Resized(Contiguous(self.block), self.stride(n))
        displacement = self.start + rank * (self.block + self.gap)
        calls = self.ncalls * (self.block // self.transfer if self.transfer else 1)
        return (View(displacement, filetype, calls),)
