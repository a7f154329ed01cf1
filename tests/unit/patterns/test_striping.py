from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_pario.errors import ParameterError
from pytest_pario.model import Pattern
from pytest_pario.patterns import Strided, plan
from pytest_pario.patterns.striping import bytes_on_nodes, count_discontinuities, locate
from pytest_pario.units import KiB


@given(x=st.integers(0, 1 << 40), unit=st.integers(1, 1 << 20), nodes=st.integers(1, 64))
def test_location(x: int, unit: int, nodes: int) -> None:
    # RES-01
    node, local = locate(np.array([x]), unit, nodes)
    assert node[0] == x // unit % nodes
    assert local[0] == x // (unit * nodes) * unit + x % unit


@pytest.mark.parametrize(
    ("n", "piece_kib", "disjoint"),
    [(2, 32, False), (2, 64, True), (2, 128, True), (2, 256, False), (4, 32, False), (4, 64, True), (4, 128, False)],
)
def test_access_sets_of_the_demo(n: int, piece_kib: int, disjoint: bool) -> None:
    # RES-08, RES-10: M = 4, u = 64 KiB
    made = plan(Pattern("demo", Strided(piece_kib * KiB, per_call=4)), n)
    sets = [set(np.flatnonzero(bytes_on_nodes(table, 64 * KiB, 4)).tolist()) for table in made.ranks]
    assert (sum(map(len, sets)) == len(set().union(*sets))) == disjoint


def test_bytes_on_nodes_are_all_bytes() -> None:
    table = Strided(1000, per_call=7).calls(1, 3)
    sums = bytes_on_nodes(table, 64, 5)
    wanted = np.zeros(5, dtype=int)
    for offset, length in zip(table.offsets, table.lengths, strict=True):
        for x in range(offset, offset + length):
            wanted[x // 64 % 5] += 1
    assert sums.tolist() == wanted.tolist()


def test_discontinuities() -> None:
    # RES-28: a sequential reader never seeks; two interleaved ones seek at every turn
    offsets = np.arange(8, dtype=np.int64) * 64
    lengths = np.full(8, 64)
    assert count_discontinuities(offsets, lengths, 64, 2).tolist() == [0, 0]
    swapped = offsets.reshape(2, 4).T.ravel()
    assert count_discontinuities(swapped, lengths, 64, 2).tolist() == [3, 3]


def test_striping_is_checked() -> None:
    with pytest.raises(ParameterError, match="striping"):
        locate(np.array([0]), 0, 4)
