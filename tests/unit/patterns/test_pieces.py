from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_pario.patterns.pieces import FEW, copy_pieces, split


@settings(max_examples=80, deadline=None)
@given(
    lengths=st.lists(st.sampled_from([1, 2, 3, 8, 100, 2047, 2048, 5000]), max_size=60),
    seed=st.integers(0, 999),
)
def test_pieces_are_copied_one_by_one(lengths: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.array(lengths, dtype=np.int64)
    source = rng.integers(0, 256, size=9000, dtype=np.uint8)
    at = np.cumsum(sizes + 1) - sizes
    begins = rng.integers(0, source.size - 5000, size=sizes.size)
    wanted = np.zeros(int((sizes + 1).sum()) + 1, dtype=np.uint8)
    for place, size, begin in zip(at, sizes, begins, strict=True):
        wanted[place : place + size] = source[begin : begin + size]
    out = np.zeros_like(wanted)
    copy_pieces(out, at, sizes, source, begins)
    assert np.array_equal(out, wanted)


def test_many_pieces_of_one_length_fill_the_buffer_to_its_end() -> None:
    source = np.arange(256, dtype=np.uint8)
    out = np.zeros(40 * FEW, dtype=np.uint8)
    copy_pieces(out, np.arange(4 * FEW) * 10, np.full(4 * FEW, 10), source, np.full(4 * FEW, 246))
    assert np.array_equal(out, np.tile(source[246:], 4 * FEW))


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(1, 50)), max_size=10),
    st.integers(1, 30),
)
def test_ranges_are_split_at_multiples(ranges: list[tuple[int, int]], unit: int) -> None:
    begins = np.array([b for b, _ in ranges], dtype=np.int64)
    lengths = np.array([n for _, n in ranges], dtype=np.int64)
    owner, low, sizes = split(begins, lengths, unit)
    assert ((low // unit) == ((low + sizes - 1) // unit)).all()
    for index, (begin, length) in enumerate(ranges):
        mine = owner == index
        covered = np.concatenate([np.arange(b, b + s) for b, s in zip(low[mine], sizes[mine], strict=True)])
        assert covered.tolist() == list(range(begin, begin + length))
