"""What every layout promises, whatever its parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_pario.patterns import LAYOUTS, check, pattern_from_json, plan, to_json, views
from pytest_pario.patterns.expand import expand_views
from tests.unit.patterns.layout_cases import ALL, Case

each_kind = pytest.mark.parametrize("kind", ALL)


def test_cases_cover_all_layouts() -> None:
    assert {kind.removesuffix("_full") for kind in ALL} == set(LAYOUTS)


@each_kind
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_recipe_and_table_name_the_same_bytes(kind: str, data: st.DataObject) -> None:
    # MODEL-02: oracle and subject are built separately
    case: Case = data.draw(ALL[kind])
    repetitions = data.draw(st.integers(1, 3)) if case.repeats else 1
    base = data.draw(st.integers(0, 3)) if case.repeats and kind != "segmented" else 0
    made = plan(case.pattern(), case.n, repetitions, base)
    for rank in range(case.n):
        table = made.ranks[rank]
        assert check.are_equal(table, expand_views(views(made, rank), table.call_bytes))


@each_kind
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_bytes_are_disjoint_and_complete_where_promised(kind: str, data: st.DataObject) -> None:
    case: Case = data.draw(ALL[kind])
    repetitions = data.draw(st.integers(1, 3)) if case.repeats else 1
    tables = plan(case.pattern(), case.n, repetitions).ranks
    assert check.total_bytes(tables) == case.total * repetitions
    assert (check.find_overlap(tables) is None) == (case.disjoint or case.total == 0)
    if case.tiling:
        assert check.is_tiling(tables)
        assert check.file_size(tables) == case.total * repetitions


@each_kind
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_tables_are_well_formed(kind: str, data: st.DataObject) -> None:
    case: Case = data.draw(ALL[kind])
    for table in plan(case.pattern(), case.n).ranks:
        assert check.is_ascending(table)
        assert (table.lengths > 0).all()
        assert (np.diff(table.bounds) >= 0).all()
        assert table.call_bytes.sum() == table.total_bytes


@each_kind
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_rank_makes_as_many_calls_under_as_many_views(kind: str, data: st.DataObject) -> None:
    # collective calls and views must match, also of ranks that have nothing to move (CONS-64)
    case: Case = data.draw(ALL[kind])
    work = plan(case.pattern(), case.n)
    assert len({table.call_count for table in work.ranks}) == 1
    shown = [views(work, rank) for rank in range(case.n)]
    assert len({len(one) for one in shown}) == 1
    assert len({view.etype for one in shown for view in one}) == 1
    for table, one in zip(work.ranks, shown, strict=True):
        assert sum(view.calls for view in one) == table.call_count


@each_kind
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_layouts_survive_json(kind: str, data: st.DataObject) -> None:
    case: Case = data.draw(ALL[kind])
    pattern = case.pattern()
    again = pattern_from_json(to_json(pattern))
    assert again == pattern
    assert again.id == pattern.id
    assert hash(again) == hash(pattern)
