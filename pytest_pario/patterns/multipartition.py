"""Multipartition: a cube cut into cells, of which every rank has one in each slice of each direction (BT §10)."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt, prod
from typing import ClassVar

from pytest_pario.errors import ParameterError
from pytest_pario.model import Extents
from pytest_pario.patterns.cells import Box, Cells
from pytest_pario.patterns.protocol import Layout
from pytest_pario.patterns.recipe import View

HALO = 2
"""Layers of neighbours' points around a cell."""


@dataclass(frozen=True)
class Cell:
    """A box of the grid; all triples are in the order x, y, z."""

    place: tuple[int, int, int]
    """Which cell it is along each direction."""
    starts: tuple[int, int, int]
    shape: tuple[int, int, int]

    @property
    def points(self) -> int:
        """Points of the cell."""
        return prod(self.shape)


@dataclass(frozen=True)
class Partition:
    """The cells of one rank, and who its neighbours are."""

    size: int
    """Points of the grid in each direction."""
    ranks: int
    rank: int

    def __post_init__(self) -> None:
        edge = isqrt(max(self.ranks, 0))
        square = self.ranks >= 1 and edge * edge == self.ranks
        if not square or edge > self.size // 3:
            allowed = f"a square number from 1 to {(self.size // 3) ** 2}: every cell needs 3 points in each direction"
            raise ParameterError("ranks", self.ranks, allowed, f"grid of {self.size}^3 points")
        if not 0 <= self.rank < self.ranks:
            raise ParameterError("rank", self.rank, f"0 to {self.ranks - 1}")

    @property
    def edge(self) -> int:
        """Cells along an edge of the grid, which is also the number of cells of a rank."""
        return isqrt(self.ranks)

    @property
    def home(self) -> tuple[int, int]:
        """Where the rank's first cell is along x and y."""
        return self.rank % self.edge, self.rank // self.edge

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One in each slab of z, in ascending order."""
        (i, j), p = self.home, self.edge
        return tuple(self.cell(((i + c) % p, (j - c) % p, c)) for c in range(p))

    def cell(self, place: tuple[int, int, int]) -> Cell:
        """A cell by its place, whoever has it."""
        spans = [self.span(one) for one in place]
        (x, nx), (y, ny), (z, nz) = spans
        return Cell(place, (x, y, z), (nx, ny, nz))

    def span(self, place: int) -> tuple[int, int]:
        """First index and number of points of a slice; the first ones take what does not divide."""
        count, more = divmod(self.size, self.edge)
        return place * count + min(place, more), count + (place < more)

    def in_slice(self, axis: int, number: int) -> int:
        """Which of the rank's cells lies in a slice along an axis."""
        i, j = self.home
        return ((number - i) % self.edge, (j - number) % self.edge, number)[axis]

    def neighbour(self, axis: int, by: int) -> int:
        """The rank that has the cells before (-1) or after (+1) this rank's along an axis."""
        (i, j), p = self.home, self.edge
        moved = ((i + by, j), (i, j + by), (i - by, j + by))[axis]
        return moved[0] % p + p * (moved[1] % p)

    @property
    def points(self) -> int:
        """Points of all cells of the rank."""
        return sum(cell.points for cell in self.cells)


def largest_square(ranks: int) -> int:
    """The most ranks that can take part."""
    return isqrt(ranks) ** 2


@dataclass(frozen=True)
class Multipartition(Layout):
    """The file is a cube of size^3 elements, x the fastest; a rank moves its cells, in ascending z, in one call."""

    name: ClassVar[str] = "multipartition"

    size: int
    """Elements in each dimension."""
    elem: int = 40
    """Bytes of an element."""

    def __post_init__(self) -> None:
        self.require_whole(1, "elem")
        self.require_whole(3, "size")

    def check(self, n: int) -> None:
        """Refuse numbers of ranks that are not square, or too many."""
        Partition(self.size, n, 0)

    def _boxes(self, rank: int, n: int) -> tuple[Box, ...]:
        return tuple((one.starts[::-1], one.shape[::-1]) for one in Partition(self.size, n, rank).cells)

    def _alone(self, rank: int, n: int) -> Cells:
        return Cells((self.size,) * 3, (self._boxes(rank, n),), self.elem)

    def period(self, n: int) -> int:
        """Bytes of the cube."""
        return self.size**3 * self.elem

    def calls(self, rank: int, n: int) -> Extents:
        """One call with the rows of all cells."""
        return self._alone(rank, n).calls(0, 1)

    def recipe(self, rank: int, n: int) -> tuple[View, ...]:
        """A struct of subarrays, as wide as the cube."""
        return self._alone(rank, n).recipe(0, 1)
