from __future__ import annotations

import numpy as np
import pytest

from pytest_pario.model import Extents
from pytest_pario.patterns import Strided, check
from pytest_pario.patterns.expand import expand, expand_views, extent, size
from pytest_pario.patterns.recipe import Contiguous, Darray, Hindexed, Recipe, Resized, Struct, Subarray, Vector, View


def ints(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def test_a_plain_vector_does_not_tile() -> None:
    # MODEL-07: 3 blocks of 8 bytes, one every 32: extent 72 instead of 96
    vector = Vector(3, 8, 32)
    assert extent(vector) == 72
    assert extent(Resized(vector, 96)) == 96
    calls = ints(48)
    right = Strided(8, per_call=6).calls(0, 4)
    wrong = expand_views([View(0, vector, 1)], calls)
    resized = expand_views([View(0, Resized(vector, 96), 1)], calls)
    assert check.are_equal(resized, right)
    assert not check.are_equal(wrong, right)
    # the fourth block comes at 72, not at 96
    assert wrong.offsets.tolist()[3] == 72


@pytest.mark.parametrize(
    ("recipe", "bytes_", "width", "pieces"),
    [
        (Contiguous(5), 5, 5, [(0, 5)]),
        (Resized(Contiguous(5), 8), 5, 8, [(0, 5)]),
        (Vector(2, 3, 10), 6, 13, [(0, 3), (10, 3)]),
        (Subarray((4, 5), (2, 3), (1, 2), 2), 12, 40, [(14, 6), (24, 6)]),
        (Darray(3, (4, 5), (2, 2), 2), 8, 40, [(26, 4), (36, 4)]),
        (Darray(2, (2, 1), (3, 1), 2), 0, 4, []),
        (Hindexed(ints(4, 9), ints(2, 1)), 3, 6, [(4, 2), (9, 1)]),
        (Struct(((0, Contiguous(2)), (7, Vector(2, 1, 3)))), 4, 11, [(0, 2), (7, 1), (10, 1)]),
    ],
)
def test_size_extent_and_pieces(recipe: Recipe, bytes_: int, width: int, pieces: list[tuple[int, int]]) -> None:
    at, lengths = expand(recipe)
    assert list(zip(at.tolist(), lengths.tolist(), strict=True)) == pieces
    assert (size(recipe), extent(recipe)) == (bytes_, width)


def test_calls_cut_the_stream_anywhere() -> None:
    table = expand_views([View(100, Resized(Contiguous(4), 10), 4)], ints(3, 0, 3, 6))
    assert table.offsets.tolist() == [100, 103, 110, 112, 120]
    assert table.lengths.tolist() == [3, 1, 2, 2, 4]
    assert table.bounds.tolist() == [0, 1, 1, 3, 5]


def test_several_views_follow_each_other() -> None:
    views = [View(0, Contiguous(1), 1), View(50, Contiguous(1), 2)]
    assert expand_views(views, ints(4, 5, 6)).offsets.tolist() == [0, 50, 55]
    assert expand_views([], ints()).call_count == 0


def test_a_wrong_displacement_is_noticed() -> None:
    right = Strided(8, ncalls=3).calls(1, 2)
    for view in (View(9, Resized(Contiguous(8), 16), 3), View(8, Resized(Contiguous(8), 17), 3)):
        assert not check.are_equal(expand_views([view], right.call_bytes), right)


def test_order_in_memory_matters() -> None:
    one = Extents(ints(0, 10), ints(4, 4), ints(0, 2))
    other = Extents(ints(10, 0), ints(4, 4), ints(0, 2))
    assert not check.are_equal(one, other)
