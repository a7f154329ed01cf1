"""Cells: a union of boxes of one row-major array for each rank, as in NAS BTIO."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar, TypeAlias

import numpy as np

from pytest_pario.model import Extents
from pytest_pario.patterns.box import box_rows
from pytest_pario.patterns.protocol import Layout
from pytest_pario.patterns.recipe import Resized, Struct, Subarray, View

Box: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Where a box begins in each dimension, and its shape."""


@dataclass(frozen=True)
class Cells(Layout):
    """The file is the row-major array `sizes`; rank r moves boxes[r], in this order, in one call."""

    name: ClassVar[str] = "cells"

    sizes: tuple[int, ...]
    """Elements in each dimension, the last the fastest."""
    boxes: tuple[tuple[Box, ...], ...]
    """The boxes of each rank, in ascending order of their bytes, as MPI demands of a file view."""
    elem: int
    """Bytes of an element."""

    def __post_init__(self) -> None:
        self.require_whole(1, "elem")
        self.require(bool(self.sizes) and min(self.sizes) >= 1, "sizes", "1 or more in each dimension")
        self.require(all(self.boxes), "boxes", "one or more boxes for each rank")
        inside = all(self._is_inside(*box) for mine in self.boxes for box in mine)
        self.require(inside, "boxes", f"non-empty boxes inside {self.sizes}")

    def _is_inside(self, starts: tuple[int, ...], shape: tuple[int, ...]) -> bool:
        whole = len(starts) == len(shape) == len(self.sizes)
        edges = zip(starts, shape, self.sizes, strict=whole)
        return whole and all(first >= 0 and width >= 1 and first + width <= g for first, width, g in edges)

    def check(self, n: int) -> None:
        """Refuse any number of ranks but that of the table."""
        self.require(n == len(self.boxes), "boxes", f"one entry for each of {n} ranks; there are {len(self.boxes)}")

    def period(self, n: int) -> int:
        """Bytes of the array."""
        return prod(self.sizes) * self.elem

    def calls(self, rank: int, n: int) -> Extents:
        """One call with the rows of all boxes."""
        rows = [box_rows(self.sizes, starts, shape, self.elem) for starts, shape in self.boxes[rank]]
        offsets = np.concatenate([at for at, _ in rows])
        return Extents(offsets, np.concatenate([lengths for _, lengths in rows]), np.array([0, offsets.size]))

    def recipe(self, rank: int, n: int) -> tuple[View, ...]:
        """A struct of subarrays, all at 0, as wide as the array."""
        parts = tuple((0, Subarray(self.sizes, shape, starts, self.elem)) for starts, shape in self.boxes[rank])
        return (View(0, Resized(Struct(parts), self.period(n)), 1, self.elem),)
