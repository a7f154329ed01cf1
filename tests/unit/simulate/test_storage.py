"""How ranges fall on modelled nodes, and what a wrong parameter is told."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_pario.errors import ParameterError
from pytest_pario.simulate.storage import Storage
from pytest_pario.units import KiB


@given(st.integers(0, 3000), st.integers(0, 2000), st.integers(1, 60), st.integers(1, 9))
def test_a_range_is_one_piece_on_each_node(offset: int, length: int, unit: int, nodes: int) -> None:
    # SIM-02, RES-01
    wanted: dict[int, list[int]] = {}
    for x in range(offset, offset + length):
        wanted.setdefault(x // unit % nodes, []).append(x // (unit * nodes) * unit + x % unit)
    found = Storage(nodes=nodes, unit=unit).cut(offset, length)
    assert {node: list(range(local, local + size)) for node, local, size in found} == wanted


def test_adjacent_pieces_become_one() -> None:  # SIM-02
    storage = Storage()
    ranges = [(k * 256 * KiB, 64 * KiB) for k in range(4)]
    assert storage.cut_many(ranges) == [(0, 0, 256 * KiB)]
    assert storage.cut_many([(0, 10), (20, 10)], base=7) == [(0, 7, 10), (0, 27, 10)]


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Storage)])
def test_parameters_are_checked(name: str) -> None:
    with pytest.raises(ParameterError, match=f"storage.{name} = -1"):
        Storage(**{name: -1})
