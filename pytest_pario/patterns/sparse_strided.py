"""Sparse strided: records so far apart that two of one rank never lie in one file block (GPFS-31)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pytest_pario.model import Extents
from pytest_pario.patterns.protocol import Layout
from pytest_pario.patterns.recipe import Contiguous, Resized, View


@dataclass(frozen=True)
class SparseStrided(Layout):
    """Call k of rank i moves `record` bytes at i*record + k*stride, whatever the number of ranks."""

    name: ClassVar[str] = "sparse_strided"

    record: int
    stride: int
    count: int
    """Calls of one repetition."""

    def __post_init__(self) -> None:
        self.require_whole(1, "record", "stride", "count")
        self.require(self.stride >= self.record, "stride", f"at least the record of {self.record} B")

    def check(self, n: int) -> None:
        """Refuse more ranks than there are records in a stride."""
        self.require(n * self.record <= self.stride, "stride", f"{n * self.record} B or more, a record of each rank")

    def period(self, n: int) -> int:
        """All strides of one repetition."""
        return self.count * self.stride

    def calls(self, rank: int, n: int) -> Extents:
        """One record in each call."""
        offsets = rank * self.record + np.arange(self.count, dtype=np.int64) * self.stride
        return Extents(offsets, np.full(self.count, self.record), np.arange(self.count + 1))

    def recipe(self, rank: int, n: int) -> tuple[View, ...]:
        """One record, resized to the stride."""
        return (View(rank * self.record, Resized(Contiguous(self.record), self.stride), self.count),)
