"""How an agent lays out what it gets: every piece in its place, no hole bridged across a border."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pytest_pario.strategies.runs import lay_runs

pieces = st.lists(st.tuples(st.integers(0, 300), st.integers(1, 30)), max_size=12)


@given(pieces, st.integers(1, 64), st.integers(0, 20))
def test_every_piece_has_its_place(asked: list[tuple[int, int]], unit: int, gap: int) -> None:
    cut = sorted({(x, 1) for begin, length in asked for x in range(begin, begin + length)}) + asked
    cut = [(begin, length) for begin, length in cut if begin // unit == (begin + length - 1) // unit]
    offsets, lengths = np.array(cut, dtype=np.int64).reshape(-1, 2).T
    runs = lay_runs(offsets, lengths, offsets // unit, gap)
    covered: dict[int, int] = {}
    for begin, size, place in zip(runs.begins.tolist(), runs.sizes.tolist(), runs.places.tolist(), strict=True):
        for k in range(size):
            assert covered.setdefault(begin + k, place + k) == place + k
    for (begin, length), at in zip(cut, runs.at.tolist(), strict=True):
        assert [covered[begin + k] for k in range(length)] == list(range(at, at + length))
    assert runs.total_bytes == len(covered)
    # what was added lies in holes of at most `gap` bytes inside one block
    wanted = {x for begin, length in cut for x in range(begin, begin + length)}
    added = sorted(set(covered) - wanted)
    assert bool(added) == bool(runs.has_holes.any())
    for x in added:
        below = max(w for w in wanted if w < x)
        above = min(w for w in wanted if w > x)
        assert above - below - 1 <= gap
        assert below // unit == above // unit


def test_holes_are_bridged_inside_a_block_only() -> None:
    offsets, lengths = np.array([0, 10, 64, 90]), np.array([5, 5, 6, 6])
    runs = lay_runs(offsets, lengths, offsets // 64, gap=60)
    assert runs.begins.tolist() == [0, 64]
    assert runs.sizes.tolist() == [15, 32]
    assert runs.has_holes.tolist() == [1, 1]
    assert lay_runs(offsets, lengths, offsets // 64, gap=0).begins.size == 4
