from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_pario.model import Derived, Fixed, Timed
from pytest_pario.patterns.check import file_size, is_tiling
from pytest_pario.units import MiB
from pytest_pario.workloads.beffio.sizes import SOURCES, Shape, derive_segment, pattern_of, plans_of
from pytest_pario.workloads.beffio.table import ROWS, rows_of

REAL = dict(enumerate([1, 17, 6, 19, 1, 2, 1, 3, 6, 1, 14, 3, 68, 122, 1, 58, 14, 1, 2, 4, 261, 2316, 167, 898, 26]))
"""Repetitions of p0..p24 of a real run on 2 processes with MPART 2 MiB."""


def test_a_real_run() -> None:  # BEFF-18, BEFF-19, BEFF-21
    segment = derive_segment(REAL, 2 * MiB)
    assert segment.repetitions == (2, 4, 32, 1220, 10, 580, 6)
    assert (segment.length, segment.fill) == (19 * MiB, 970080)
    assert not segment.capped
    assert segment.missing == ()


def test_sizes_of_its_files() -> None:  # BEFF-13..17, BEFF-21
    segment = derive_segment(REAL, 2 * MiB)
    counts = REAL | {row.number: segment.count(row) for row in ROWS if row.type >= 3}
    shape = Shape(2 * MiB)
    sizes = []
    for kind in range(5):
        plans = plans_of(kind, 2, shape, counts, segment)
        tables = [[plan.ranks[rank] for plan in plans] for rank in (0, 1)]
        sizes.append(max(file_size(tables[0]), file_size(tables[1])))
    assert sizes == [165724768, 101360784, 54024728, 39845888, 39845888]


def test_a_second_vector() -> None:  # BEFF-18, BEFF-19
    zero, one, two = (8, 20, 6, 4, 5, 3, 9), (7, 12, 30, 200, 28, 190, 11), (9, 25, 150, 3000, 140, 2800, 23)
    counts = {
        number: count
        for kind, vector in enumerate((zero, one, two))
        for number, count in zip(SOURCES[kind], vector, strict=True)
    }
    segment = derive_segment(counts, 2 * MiB)
    assert segment.repetitions == (8, 20, 150, 2000, 140, 1900, 9)
    assert sum(r * ROWS[n].chunk_bytes(2 * MiB) for r, n in zip(segment.repetitions, SOURCES[2], strict=True)) == (
        61_747_208 - MiB
    )
    assert (segment.length, segment.fill) == (59 * MiB, 118_776)


@given(
    st.lists(st.integers(1, 5000), min_size=25, max_size=25),
    st.sampled_from([2 * MiB, 2105344, 16 * MiB]),
    st.integers(1, 6),
)
def test_segments_tile_the_file(counts: list[int], mpart: int, n: int) -> None:  # BEFF-17, BEFF-19
    segment = derive_segment(dict(enumerate(counts)), mpart)
    assert 0 <= segment.fill < MiB
    assert segment.fill % 8 == 0
    assert segment.length % MiB == 0
    few = {row.number: min(segment.count(row), 3) for row in rows_of(3)}
    plans = plans_of(3, n, Shape(mpart), few, segment)
    for rank in range(n):
        offsets = np.concatenate([plan.ranks[rank].offsets for plan in plans])
        lengths = np.concatenate([plan.ranks[rank].lengths for plan in plans])
        assert offsets[0] == rank * segment.length
        assert (offsets[1:] == (offsets + lengths)[:-1]).all()


def test_chunks_of_type_0_and_1_lie_where_the_formula_says() -> None:  # BEFF-13, BEFF-14, MODEL-04
    n, shape = 3, Shape(2 * MiB)
    counts = {row.number: 1 + row.number % 3 for row in ROWS}
    for kind in (0, 1):
        base = 0
        for row, plan in zip(rows_of(kind), plans_of(kind, n, shape, counts, None), strict=True):
            chunk, call = row.chunk_bytes(shape.mpart), row.call_bytes(shape.mpart)
            per_call = call // chunk
            for rank in range(n):
                r, m = np.divmod(np.arange(counts[row.number] * per_call), per_call)
                assert (plan.ranks[rank].offsets == base + ((r * per_call + m) * n + rank) * chunk).all()
            base += n * call * counts[row.number]
        assert is_tiling([plan.ranks[rank] for plan in plans_of(kind, n, shape, counts, None) for rank in range(n)])


def test_what_was_not_run_does_not_count() -> None:  # BEFF-18
    segment = derive_segment({1: 5, 18: 3}, 2 * MiB)
    assert segment.repetitions == (3, 1, 1, 1, 1, 1, 1)
    assert 10 in segment.missing
    assert 18 not in segment.missing
    skipped = plans_of(0, 2, Shape(2 * MiB), {0: 1, 3: 2}, None)
    assert skipped[3].base == 2 * MiB


def test_a_capped_segment_is_scaled_down() -> None:  # BEFF-20
    whole, capped = derive_segment(REAL, 2 * MiB), derive_segment(REAL, 2 * MiB, max_segment=12 * MiB)
    assert capped.capped
    assert capped.length <= 12 * MiB
    assert all(1 <= few <= many for few, many in zip(capped.repetitions, whole.repetitions, strict=True))
    # the limit is used as far as whole repetitions go
    assert capped.length == 12 * MiB
    aligned = derive_segment(REAL, 2 * MiB, align=16 * MiB)
    assert aligned.length == 32 * MiB


@given(
    st.lists(st.integers(1, 5000), min_size=25, max_size=25),
    st.sampled_from([2 * MiB, 2105344, 16 * MiB]),
    st.sampled_from([MiB, 4 * MiB]),
    st.integers(0, 200 * MiB),
)
def test_a_limit_is_kept_where_that_is_possible(counts: list[int], mpart: int, align: int, spare: int) -> None:
    # BEFF-20
    whole = derive_segment(dict(enumerate(counts)), mpart, align)
    least = derive_segment({}, mpart, align).length
    found = derive_segment(dict(enumerate(counts)), mpart, align, least + spare)
    assert found.length <= least + spare
    assert found.capped is (whole.length > least + spare)
    assert min(found.repetitions) >= 1
    assert found.capped or found == whole
    assert set(derive_segment(dict(enumerate(counts)), mpart, align, least - 1).repetitions) == {1}


def test_rows_of_the_model() -> None:  # BEFF-03, BEFF-12, BEFF-15, BEFF-16, BEFF-33, MODEL-08
    shape = Shape(2 * MiB, seconds=600, shares=150)
    by_number = {row.number: pattern_of(row, shape, derive_segment(REAL, 2 * MiB)) for row in ROWS}
    assert {one.etype for one in by_number.values()} == {8}
    assert {one.sync for one in by_number.values()} == {"per_pattern"}
    assert not any(one.open.unique or one.open.atomic for one in by_number.values())
    assert all(pattern_of(row, Shape(2 * MiB, unique=True)).open.unique for row in ROWS)
    assert by_number[12].pointer == "shared"
    assert pattern_of(ROWS[12], Shape(2 * MiB, noshared=True)).pointer == "individual"
    assert by_number[12].layout == pattern_of(ROWS[12], Shape(2 * MiB, noshared=True)).layout
    assert by_number[20].files == "each"
    assert [by_number[number].coll for number in (3, 12, 20, 28, 37)] == [True, True, False, False, True]
    assert by_number[1].repeat == Timed(600, 4, 150)
    assert isinstance(by_number[0].repeat, Fixed)
    assert by_number[27].repeat == Derived(("p03", "p11", "p19"))


@pytest.mark.parametrize("kind", range(5))
def test_patterns_of_a_file_are_a_chain(kind: int) -> None:
    patterns = [pattern_of(row, Shape(2 * MiB)) for row in rows_of(kind)]
    assert [one.after for one in patterns] == [None, *(one.name for one in patterns[:-1])]
