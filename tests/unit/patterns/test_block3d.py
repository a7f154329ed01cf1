from __future__ import annotations

import numpy as np
import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.model import Pattern
from pytest_pario.patterns import Block3D, check, near_cube, plan, views
from pytest_pario.patterns.recipe import Contiguous


@pytest.mark.parametrize(
    ("n", "grid"),
    [(1, (1, 1, 1)), (2, (2, 1, 1)), (4, (2, 2, 1)), (7, (7, 1, 1)), (8, (2, 2, 2)), (12, (3, 2, 2)), (16, (4, 2, 2))],
)
def test_process_grid_is_near_cubic(n: int, grid: tuple[int, int, int]) -> None:
    assert near_cube(n) == grid


@pytest.mark.parametrize("n", range(1, 200))
def test_grid_holds_all_ranks(n: int) -> None:
    grid = near_cube(n)
    assert grid[0] * grid[1] * grid[2] == n
    assert grid[0] >= grid[1] >= grid[2]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 12])
def test_blocks_are_slices_of_the_array(n: int) -> None:
    # RES-30, RES-31: the file is the row-major array, blocks of ceil(g/p)
    g, elem = (5, 6, 7), 4
    numbers = np.arange(5 * 6 * 7).reshape(g)
    grid = near_cube(n)
    made = plan(Pattern("coll_perf", Block3D(g, elem), coll=True), n)
    for rank in range(n):
        corner = np.unravel_index(rank, grid)
        cut = tuple(slice(c * -(-s // p), (c + 1) * -(-s // p)) for c, s, p in zip(corner, g, grid, strict=True))
        wanted = numbers[cut].ravel()
        table = made.ranks[rank]
        found = [
            o // elem + k for o, length in zip(table.offsets, table.lengths, strict=True) for k in range(length // elem)
        ]
        assert found == wanted.tolist()


def test_cube_of_the_paper_is_tiled() -> None:
    # RES-30
    made = plan(Pattern("coll_perf", Block3D((64, 64, 64)), coll=True), 8)
    assert check.is_tiling(made.ranks)
    assert check.file_size(made.ranks) == 64**3 * 4


def test_an_empty_block_has_a_plain_view() -> None:
    # RES-31: on a grid of 2 x 2 x 1 the second column is beyond the array
    made = plan(Pattern("thin", Block3D((5, 1, 1), 4)), 4)
    assert [table.total_bytes for table in made.ranks] == [12, 0, 8, 0]
    assert isinstance(views(made, 3)[0].filetype, Contiguous)


@pytest.mark.parametrize("g", [(0, 1, 1), (1, 1), (1, 1, 1.5)])
def test_impossible_sizes(g: tuple[int, int, int]) -> None:
    with pytest.raises(ParameterError, match=r"block3d\.g"):
        Block3D(g)
