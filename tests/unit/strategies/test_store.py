"""The emulated striped store: the bytes of a file, spread over nodes, and what the logs tell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_pario.errors import ParameterError
from pytest_pario.strategies.store import Shape, StripedStore, count_seeks


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(0, 300), st.integers(1, 200)), min_size=1, max_size=6),
)
def test_bytes_come_back(
    tmp_path: Path, unit: int, nodes: int, writes: list[tuple[int, int]]
) -> None:  # RES-01, RES-28
    shape, wanted = Shape(tmp_path, unit, nodes, 500), np.zeros(500, dtype=np.uint8)
    shape.create()
    store = StripedStore(shape, rank=3)
    for number, (offset, length) in enumerate(writes):
        data = np.full(length, number + 1, dtype=np.uint8)
        assert store.write_at(offset, data) == length
        wanted[offset : offset + length] = number + 1
    out = np.zeros(300, dtype=np.uint8)
    assert store.start_read(100, out).wait() == 300
    assert (out == wanted[100:400]).all()
    assert (shape.image() == wanted).all()
    # at most one request to a node per call, who sent it is known
    logs = [shape.arrivals(node) for node in range(nodes)]
    assert all(len(log) <= len(writes) + 1 for log in logs)
    assert sum(int(log[:, 2].sum()) for log in logs) == sum(length for _, length in writes) + 300
    assert all((log[:, 0] == 3).all() for log in logs)
    store.close()
    shape.remove()
    assert list(tmp_path.iterdir()) == []


def test_seeks() -> None:  # RES-28, RES-18
    def log(*rows: tuple[int, int]) -> np.ndarray:
        return np.array([(0, *row) for row in rows], dtype=np.int64)

    assert count_seeks(log((0, 10), (10, 5), (15, 5)), 100) == (0, 20)
    assert count_seeks(log((10, 5), (0, 10)), 100) == (2, 10)
    # a second look at the same bytes comes from the node's cache
    again = log((0, 20), (5, 5), (0, 3), (20, 5))
    assert count_seeks(again, 100, reads=True) == (0, 25)
    assert count_seeks(again, 100) == (3, 25)


def test_a_store_has_an_end(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"store\.nodes = 0"):
        Shape(tmp_path, 1, 0, 1)
    shape = Shape(tmp_path, 4, 2, 10)
    shape.create()
    store = StripedStore(shape, 0)
    with pytest.raises(ParameterError, match="within the 10 B"):
        store.write_at(8, np.zeros(3, dtype=np.uint8))
    store.close()
