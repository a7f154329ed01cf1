"""Block3D: an array of three dimensions distributed by blocks over a near-cubic process grid (RES-30, RES-31)."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import ClassVar

import numpy as np

from pytest_pario.model import Extents
from pytest_pario.patterns.box import box_rows
from pytest_pario.patterns.expand import darray_box
from pytest_pario.patterns.protocol import LARGEST, Layout
from pytest_pario.patterns.recipe import Contiguous, Darray, View


@dataclass(frozen=True)
class Block3D(Layout):
    """The file is the row-major array g; every rank moves its block in one call."""

    name: ClassVar[str] = "block3d"

    g: tuple[int, int, int]
    """Elements in each dimension, the last the fastest."""
    elem: int = 4
    """Bytes of an element."""

    def __post_init__(self) -> None:
        self.require_whole(1, "elem")
        sizes_fit = len(self.g) == 3 and all(isinstance(g, int) and 1 <= g <= LARGEST for g in self.g)
        self.require(sizes_fit, "g", "three sizes of 1 or more elements")

    def period(self, n: int) -> int:
        """Bytes of the array."""
        return self.g[0] * self.g[1] * self.g[2] * self.elem

    def calls(self, rank: int, n: int) -> Extents:
        """One call with the rows of the block; short or empty blocks are at the far ends."""
        grid = near_cube(n)
        place = (rank // (grid[1] * grid[2]), rank // grid[2] % grid[1], rank % grid[2])
        # block = ceil(g / p), the last ones cut off at g
        blocks = [(g + p - 1) // p for g, p in zip(self.g, grid, strict=True)]
        starts = [c * b for c, b in zip(place, blocks, strict=True)]
        widths = [min(b, g - s) for b, g, s in zip(blocks, self.g, starts, strict=True)]
        offsets, lengths = box_rows(self.g, starts, widths, self.elem)
        return Extents(offsets, lengths, np.array([0, offsets.size]))

    def recipe(self, rank: int, n: int) -> tuple[View, ...]:
        """The distributed array; plain bytes for a rank whose block is empty."""
        part = Darray(rank, self.g, near_cube(n), self.elem)
        filetype = part if darray_box(part) else Contiguous(self.elem)
        return (View(0, filetype, 1, self.elem),)


def near_cube(n: int) -> tuple[int, int, int]:
    """Three factors of n, non-increasing and as near to each other as can be."""
    triples = (
        (n // (low * mid), mid, low)
        for low in range(1, round(n ** (1 / 3)) + 2)
        if n % low == 0
        for mid in range(low, isqrt(n // low) + 1)
        if n // low % mid == 0
    )
    return min(triples, key=lambda grid: (grid[0] - grid[2], grid))
