"""MODEL-03: what can be said of any layout from its extent table alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from pytest_pario.model import Extents
from pytest_pario.patterns import check
from tests.unit.patterns.layout_cases import Case, cases


def table(*extents: tuple[int, int], bounds: list[int] | None = None) -> Extents:
    offsets = np.array([o for o, _ in extents], dtype=np.int64)
    lengths = np.array([length for _, length in extents], dtype=np.int64)
    return Extents(offsets, lengths, np.array([0, len(extents)] if bounds is None else bounds))


def test_overlap_names_both_ranks() -> None:
    long, short = table((0, 100)), table((200, 5), (40, 2))
    overlap = check.find_overlap([long, short])
    assert overlap == check.Overlap(40, (0, 1))
    assert check.find_overlap([table((0, 10)), table((10, 10))]) is None
    assert check.find_overlap([table((0, 10), (9, 1))]) == check.Overlap(9, (0, 0))


def test_holes_up_to_the_end_or_a_given_size() -> None:
    tables = [table((10, 5)), table((20, 5))]
    assert [part.tolist() for part in check.find_holes(tables)] == [[0, 15], [10, 5]]
    assert [part.tolist() for part in check.find_holes(tables, 30)] == [[0, 15, 25], [10, 5, 5]]
    assert [part.tolist() for part in check.find_holes([], 7)] == [[0], [7]]


@settings(max_examples=100, deadline=None)
@given(case=cases)
def test_holes_and_overlap_agree_with_a_map_of_bytes(case: Case) -> None:  # MODEL-03
    n = case.n
    tables = [case.layout.calls(rank, n) for rank in range(n)]
    size = check.file_size(tables)
    counts = np.zeros(size, dtype=int)
    for each in tables:
        for offset, length in zip(each.offsets, each.lengths, strict=True):
            counts[offset : offset + length] += 1
    holes = np.zeros(size, dtype=bool)
    for offset, length in zip(*check.find_holes(tables), strict=True):
        holes[offset : offset + length] = True
    assert np.array_equal(holes, counts == 0)
    overlap = check.find_overlap(tables)
    assert (overlap is not None) == bool((counts > 1).any())
    if overlap:
        assert overlap.offset == np.flatnonzero(counts > 1)[0]


def test_ascending_inside_calls_only() -> None:
    assert check.is_ascending(table((50, 1), (0, 1), bounds=[0, 1, 2]))
    assert not check.is_ascending(table((50, 1), (0, 1)))
    assert not check.is_ascending(table((0, 5), (4, 1)))


def test_alignment() -> None:
    assert check.count_unaligned(table((0, 8), (8, 4), (17, 7)), 8) == 2


def test_coalesce_keeps_calls_apart() -> None:
    merged = check.coalesce(table((0, 2), (2, 2), (4, 2), (7, 1), bounds=[0, 0, 2, 4, 4]))
    assert merged.offsets.tolist() == [0, 4, 7]
    assert merged.lengths.tolist() == [4, 2, 1]
    assert merged.bounds.tolist() == [0, 0, 1, 3, 3]
