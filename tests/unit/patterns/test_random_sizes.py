from __future__ import annotations

import numpy as np
import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.model import Pattern
from pytest_pario.patterns import RandomSizes, check, plan


def test_positions_follow_by_summing_in_order() -> None:
    # CONS-12, CONS-13: order (segment, client, transfer), s before, g after each segment
    layout, n = RandomSizes(0, 9, transfers=3, strides=4, seed=5, start=7, pad=2), 3
    sizes = layout.sizes(n)
    wanted: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    position = 7
    for segment in range(4):
        for client in range(n):
            for transfer in range(3):
                size = int(sizes[segment, client, transfer])
                if size:
                    wanted[client].append((position, size))
                position += size
        position += 2
    for client in range(n):
        table = layout.calls(client, n)
        assert list(zip(table.offsets.tolist(), table.lengths.tolist(), strict=True)) == wanted[client]
        assert table.call_bytes.tolist() == sizes[:, client].ravel().tolist()
        assert table.call_count == 12


def test_zero_sizes_are_empty_calls() -> None:
    # CONS-12
    layout = RandomSizes(0, 1, transfers=50, seed=1)
    table = layout.calls(0, 1)
    assert 0 < np.count_nonzero(table.call_bytes) < 50


def test_sizes_fill_their_range_and_depend_on_the_seed() -> None:
    # GEN-10
    sizes = RandomSizes(3, 5, transfers=500, seed=1).sizes(2)
    assert set(np.unique(sizes).tolist()) == {3, 4, 5}
    assert not np.array_equal(sizes, RandomSizes(3, 5, transfers=500, seed=2).sizes(2))


def test_padding_leaves_holes_but_not_at_the_end() -> None:
    # CONS-13, CONS-14
    made = plan(Pattern("general", RandomSizes(4, 9, transfers=2, strides=3, seed=2, start=5, pad=6)), 2)
    offsets, lengths = check.find_holes(made.ranks)
    assert offsets[0] == 0
    assert lengths.tolist() == [5, 6, 6]


def test_one_transfer_without_padding_is_ordered() -> None:
    # ENV-02: ordered calls may have different lengths
    assert RandomSizes(1, 9, strides=4).ordered
    assert not RandomSizes(1, 9, transfers=2).ordered


@pytest.mark.parametrize("bad", [(5, 4), (-1, 4), (0, 0)])
def test_impossible_ranges(bad: tuple[int, int]) -> None:
    with pytest.raises(ParameterError, match="random_sizes"):
        RandomSizes(*bad)
