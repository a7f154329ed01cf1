"""Diagonal multi-partitioning: cells tile the grid, and neighbours are who they say they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_pario.errors import ParameterError
from pytest_pario.patterns import Multipartition
from pytest_pario.patterns.multipartition import Cell, Partition, largest_square


@st.composite
def grids(draw: st.DrawFn) -> tuple[int, int]:
    edge = draw(st.integers(1, 5))
    return draw(st.integers(3 * edge, 3 * edge + 7)), edge


@settings(deadline=None, max_examples=30)
@given(grids())
def test_cells_tile_the_grid(grid: tuple[int, int]) -> None:
    size, edge = grid
    seen = np.zeros((size, size, size), dtype=int)
    for rank in range(edge**2):
        for cell in Partition(size, edge**2, rank).cells:
            (x, y, z), (nx, ny, nz) = cell.starts, cell.shape
            assert min(cell.shape) >= 3
            seen[z : z + nz, y : y + ny, x : x + nx] += 1
    assert (seen == 1).all()


@settings(deadline=None, max_examples=30)
@given(grids())
def test_one_cell_in_each_slice_and_the_next_one_is_the_neighbours(grid: tuple[int, int]) -> None:
    size, edge = grid
    parts = [Partition(size, edge**2, rank) for rank in range(edge**2)]
    owner = {cell.place: part.rank for part in parts for cell in part.cells}
    for part in parts:
        for axis in range(3):
            places = [part.cells[part.in_slice(axis, number)].place[axis] for number in range(edge)]
            assert places == list(range(edge))
            for cell in part.cells:
                for by in (-1, 1):
                    beside = list(cell.place)
                    beside[axis] += by
                    if 0 <= beside[axis] < edge:
                        assert owner[tuple(beside)] == part.neighbour(axis, by)  # type: ignore[index]


def test_the_worked_example() -> None:
    # N = 12, p = 2
    places = [[cell.place for cell in Partition(12, 4, rank).cells] for rank in range(4)]
    assert places == [
        [(0, 0, 0), (1, 1, 1)],
        [(1, 0, 0), (0, 1, 1)],
        [(0, 1, 0), (1, 0, 1)],
        [(1, 1, 0), (0, 0, 1)],
    ]
    assert Partition(12, 4, 3).cells[1] == Cell((0, 0, 1), (0, 0, 6), (6, 6, 6))
    assert Partition(11, 4, 0).span(0) == (0, 6)
    assert Partition(11, 4, 0).span(1) == (6, 5)


@pytest.mark.parametrize("ranks", [0, 2, 3, 25])
def test_other_numbers_of_ranks_are_refused(ranks: int) -> None:
    with pytest.raises(ParameterError, match=rf"ranks = {ranks} .*a square number from 1 to 16"):
        Multipartition(12).check(ranks)


def test_the_largest_square() -> None:
    assert [largest_square(ranks) for ranks in (1, 3, 4, 8, 9, 24, 25)] == [1, 1, 4, 4, 9, 16, 25]
