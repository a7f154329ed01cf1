from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_pario.errors import ParameterError
from pytest_pario.model import Fixed, Memory, Pattern, Timed
from pytest_pario.patterns import Scattered, Segmented, Strided, chain, check, period, plan, planning, views
from pytest_pario.patterns.recipe import Contiguous, View
from pytest_pario.units import KiB, MiB
from tests.unit.patterns.layout_cases import Case, cases

# section 10.3: a real run of b_eff_io 2.1 on 2 processes, MPART 2 MiB
BEFF_L = [MiB, 2 * MiB, 2 * MiB, MiB, MiB, MiB, MiB + 256, MiB + 8 * KiB, MiB + 8]
BEFF_CHUNK = [MiB, 2 * MiB, MiB, MiB, 32 * KiB, KiB, 32 * KiB + 8, KiB + 8, MiB + 8]
TYPE_1 = [MiB, 2 * MiB, MiB, 32 * KiB, KiB, 32 * KiB + 8, KiB + 8, MiB + 8]


def linked(name: str, number: int) -> str | None:
    return f"{name}{number - 1}" if number else None


def test_type_0_of_a_real_run() -> None:
    # BEFF-13, BEFF-21
    rows = [
        Pattern(f"p{i}", Strided(chunk, per_call=big // chunk), coll=True, etype=8, after=linked("p", i))
        for i, (chunk, big) in enumerate(zip(BEFF_CHUNK, BEFF_L, strict=True))
    ]
    plans = chain(rows, 2, [1, 17, 6, 19, 1, 2, 1, 3, 6])
    tables = [table for made in plans for table in made.ranks]
    assert check.file_size(tables) == 165724768
    assert check.is_tiling(tables)


def test_type_1_and_2_of_a_real_run() -> None:
    # BEFF-14, BEFF-16, BEFF-21
    counts = [1, 14, 3, 68, 122, 1, 58, 14]
    rows = [
        Pattern(f"p{i}", Strided(size), coll=True, pointer="shared", etype=8, after=linked("p", i))
        for i, size in enumerate(TYPE_1)
    ]
    assert check.file_size([t for made in chain(rows, 2, counts) for t in made.ranks]) == 101360784
    each = [
        Pattern(f"q{i}", Segmented(0, (size,)), files="each", etype=8, after=linked("q", i))
        for i, size in enumerate(TYPE_1)
    ]
    plans = chain(each, 2, [1, 2, 4, 261, 2316, 167, 898, 26])
    assert check.file_size([made.ranks[0] for made in plans]) == 54024728


def test_a_broken_chain_is_refused() -> None:
    # MODEL-04
    rows = [Pattern("a", Strided(8)), Pattern("b", Strided(8), after="c")]
    with pytest.raises(ParameterError, match=r"b: after = 'c'.*'a'"):
        chain(rows, 2, [1, 1])


@settings(max_examples=60, deadline=None)
@given(case=cases, first=st.integers(0, 2), count=st.integers(1, 3))
def test_batches_are_parts_of_the_whole(case: Case, first: int, count: int) -> None:
    # BEFF-26: a timed loop plans batch after batch
    # segments of the cases hold three repetitions
    assume(case.repeats and (case.layout.limit(case.n) is None or first + count <= 3))
    pattern = case.pattern()
    whole = plan(pattern, case.n, first + count)
    batch = plan(pattern, case.n, count, first=first)
    for rank in range(case.n):
        skip = len(whole.ranks[rank].offsets) - len(batch.ranks[rank].offsets)
        assert np.array_equal(batch.ranks[rank].offsets, whole.ranks[rank].offsets[skip:])
        assert batch.ranks[rank].call_count * (first + count) == whole.ranks[rank].call_count * count


def test_repetitions_come_from_the_row() -> None:
    assert plan(Pattern("x", Strided(8), repeat=Fixed(5)), 2).repetitions == 5
    assert plan(Pattern("x", Strided(8), repeat=Timed(10, 2)), 2).repetitions == 1
    assert plan(Pattern("x", Strided(8)), 2, 0).ranks[0].call_count == 0


def test_a_shared_pointer_has_one_view_for_all() -> None:
    # ENV-04
    made = plan(Pattern("s", Strided(24, start=5), pointer="shared", coll=True, etype=8), 3, 4, base=24)
    assert {tuple(views(made, rank)) for rank in range(3)} == {(View(29, Contiguous(8), 4, 8),)}


def test_elementary_types_must_divide() -> None:
    # BEFF-12, ENV-16
    with pytest.raises(ParameterError, match=r"odd: etype = 8.*12 B is none"):
        plan(Pattern("odd", Strided(12), etype=8), 2).ranks[0]
    with pytest.raises(ParameterError, match=r"odd: mem\.piece = 5.*12 B is none"):
        plan(Pattern("odd", Strided(12), mem=Memory(5, 1)), 2).ranks[0]


def test_several_views_are_set_again() -> None:
    made = plan(Pattern("r", Scattered(8, 8, region=32)), 2, repetitions=3)
    many = views(made, 1)
    assert [view.displacement for view in many] == [0, 32, 64, 96, 128, 160]
    assert many[-1].displacement == 160
    assert [view.displacement for view in many[1:3]] == [32, 64]


def test_numbers_of_ranks_must_agree() -> None:
    with pytest.raises(ParameterError, match=r"x: n = 3.*4, the ranks of the row"):
        plan(Pattern("x", Strided(8), ranks=4), 3)
    with pytest.raises(ParameterError, match="x: plan"):
        plan(Pattern("x", Strided(8)), 3, -1)
    with pytest.raises(ParameterError, match="x: repetitions"):
        plan(Pattern("x", Strided(1 << 40)), 3, 1 << 30)


def test_tables_are_made_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = plan(Pattern("x", Strided(8)), 1 << 20)
    assert made.ranks[-1].offsets.tolist() == [((1 << 20) - 1) * 8]
    assert made.ranks[5] is made.ranks[5]
    assert [t.offsets[0] for t in made.ranks[1:3]] == [8, 16]
    with pytest.raises(IndexError):
        made.ranks[1 << 20]
    monkeypatch.setattr(planning, "KEPT_BYTES", 0)
    other = plan(Pattern("x", Strided(8)), 4)
    assert other.ranks[1] is not other.ranks[1]


def test_period() -> None:
    assert period(Pattern("x", Strided(8, 2, 3, pad=1, gap=2)), 4) == 6 * (4 * 10 + 1)
    assert period(Pattern("x", Strided(8), files="each"), 4) == 8
