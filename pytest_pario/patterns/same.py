"""Same: all ranks move the same bytes (BEFF-64)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pytest_pario.model import Extents
from pytest_pario.patterns.protocol import Layout
from pytest_pario.patterns.recipe import Contiguous, View


@dataclass(frozen=True)
class Same(Layout):
    """Call c of every rank moves [c*size, (c+1)*size)."""

    name: ClassVar[str] = "same"

    size: int
    """Bytes of one call."""
    ncalls: int = 1

    def __post_init__(self) -> None:
        self.require_whole(1, "size", "ncalls")

    @property
    def overlapping(self) -> bool:
        """Always."""
        return True

    def period(self, n: int) -> int:
        """Bytes of all calls."""
        return self.size * self.ncalls

    def calls(self, rank: int, n: int) -> Extents:
        """One extent in each call."""
        offsets = np.arange(self.ncalls, dtype=np.int64) * self.size
        return Extents(offsets, np.full(self.ncalls, self.size), np.arange(self.ncalls + 1))

    def recipe(self, rank: int, n: int) -> tuple[View, ...]:
        """Plain bytes from the beginning."""
        return (View(0, Contiguous(1), self.ncalls),)
