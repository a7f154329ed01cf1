"""Files: many small files of each rank, for the cost of creating, opening and removing them (CONS-71..73)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pytest_pario.model import Extents
from pytest_pario.patterns.protocol import Layout
from pytest_pario.patterns.recipe import Contiguous, View


@dataclass(frozen=True)
class Files(Layout):
    """`count` files of each rank, each of `size` bytes; extents are those of one file, all are alike."""

    name: ClassVar[str] = "files"

    count: int
    """Files of each rank."""
    size: int = 0
    """Bytes of one file."""
    transfer: int = 0
    """Bytes of one call; 0 moves the file in one."""
    own_directory: bool = False
    """Whether each rank has a directory of its own."""

    def __post_init__(self) -> None:
        self.require_whole(1, "count")
        self.require_whole(0, "size", "transfer")

    def check(self, n: int) -> None:
        """Refuse to let several ranks write one file."""
        self.require(n == 1, "count", "used with a file for each rank: set files to each")

    def names(self, rank: int) -> tuple[str, ...]:
        """Names of the rank's files below the test's directory."""
        folder = f"rank{rank:05d}/" if self.own_directory else f"rank{rank:05d}."
        return tuple(f"{folder}{index:06d}" for index in range(self.count))

    def writer(self, rank: int, index: int) -> int:
        """The writer by which file `index` of a rank is stamped, so that no two files are alike."""
        return rank * self.count + index

    def period(self, n: int) -> int:
        """Bytes of one file."""
        return self.size

    def calls(self, rank: int, n: int) -> Extents:
        """Transfers one after the other; the last may be short."""
        step = self.transfer or max(self.size, 1)
        offsets = np.arange(0, self.size, step, dtype=np.int64)
        return Extents(offsets, np.minimum(step, self.size - offsets), np.arange(offsets.size + 1))

    def recipe(self, rank: int, n: int) -> tuple[View, ...]:
        """Plain bytes from the beginning."""
        step = self.transfer or max(self.size, 1)
        return (View(0, Contiguous(1), -(-self.size // step)),)
