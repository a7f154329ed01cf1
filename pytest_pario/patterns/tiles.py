"""Tiles: a dataset of two dimensions cut into overlapping tiles, one per rank (CONS-58..68)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pytest_pario.errors import ProcessCountError
from pytest_pario.model import Extents
from pytest_pario.patterns.box import box_rows
from pytest_pario.patterns.protocol import Layout
from pytest_pario.patterns.recipe import Contiguous, Subarray, View


@dataclass(frozen=True)
class Tiles(Layout):
    """nx by ny tiles of sx by sy elements; x is the fastest dimension; ranks beyond the tiles move nothing."""

    name: ClassVar[str] = "tiles"

    nx: int = 1
    """Tiles in x."""
    ny: int = 1
    sx: int = 1024
    """Elements of a tile in x."""
    sy: int = 1024
    elem: int = 3
    """Bytes of an element."""
    ox: int = 0
    """Elements that neighbours in x share."""
    oy: int = 0
    header: int = 0
    """Bytes before the dataset, which nobody touches."""

    def __post_init__(self) -> None:
        self.require_whole(1, "nx", "ny", "sx", "sy", "elem")
        self.require_whole(0, "ox", "oy", "header")
        # CONS-68
        self.require(self.nx == 1 or self.ox < self.sx, "ox", f"less than the {self.sx} elements of a tile")
        self.require(self.ny == 1 or self.oy < self.sy, "oy", f"less than the {self.sy} elements of a tile")

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the dataset, in elements."""
        # W = nx*sx - (nx-1)*ox, H = ny*sy - (ny-1)*oy
        return self.ny * self.sy - (self.ny - 1) * self.oy, self.nx * self.sx - (self.nx - 1) * self.ox

    @property
    def overlapping(self) -> bool:
        """Whether neighbouring tiles share elements."""
        return (self.nx > 1 and self.ox > 0) or (self.ny > 1 and self.oy > 0)

    def check(self, n: int) -> None:
        """Refuse fewer ranks than tiles (CONS-64)."""
        if n < self.nx * self.ny:
            raise ProcessCountError(f"tiles: {self.nx} x {self.ny} tiles need {self.nx * self.ny} ranks; there are {n}")

    def team(self, n: int) -> int:
        """As many ranks as tiles (CONS-64)."""
        return min(n, self.nx * self.ny)

    def period(self, n: int) -> int:
        """Bytes of the dataset."""
        return self.shape[0] * self.shape[1] * self.elem

    def calls(self, rank: int, n: int) -> Extents:
        """One call with the rows of the tile; an empty one beyond the tiles, since collective calls need everybody."""
        if rank >= self.nx * self.ny:
            return Extents(_NONE, _NONE, np.zeros(2, np.int64))
        ty, tx = divmod(rank, self.nx)
        starts = (ty * (self.sy - self.oy), tx * (self.sx - self.ox))
        offsets, lengths = box_rows(self.shape, starts, (self.sy, self.sx), self.elem)
        return Extents(self.header + offsets, lengths, np.array([0, offsets.size]))

    def recipe(self, rank: int, n: int) -> tuple[View, ...]:
        """The subarray of the tile, in elements, behind the header; plain elements where there is no tile."""
        if rank >= self.nx * self.ny:
            return (View(self.header, Contiguous(self.elem), 1, self.elem),)
        row, column = np.unravel_index(rank, (self.ny, self.nx))
        starts = (int(row) * (self.sy - self.oy), int(column) * (self.sx - self.ox))
        return (View(self.header, Subarray(self.shape, (self.sy, self.sx), starts, self.elem), 1, self.elem),)


_NONE = np.empty(0, np.int64)
