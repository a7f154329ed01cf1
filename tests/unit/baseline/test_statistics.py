"""Statistics of nights: each with a known change and with none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_pario.baseline.statistics import (
    Floats,
    bootstrap_shift,
    centre_and_spread,
    compress,
    date_step,
    last_kept,
    median,
    median_of_others,
    quantiles,
    student_quantile,
    trailing_median,
)

NAN = float("nan")
tables = st.lists(
    st.lists(st.one_of(st.floats(-10, 10), st.just(NAN)), min_size=4, max_size=4), min_size=1, max_size=8
).map(lambda rows: np.array(rows, float))


@settings(max_examples=60, deadline=None)
@given(tables)
def test_medians_pass_over_missing_nights(table: Floats) -> None:
    found = median(table)
    for column in range(table.shape[1]):
        held = table[np.isfinite(table[:, column]), column]
        assert (np.isnan(found[column]) and not len(held)) or found[column] == pytest.approx(np.median(held))


@settings(max_examples=60, deadline=None)
@given(tables)
def test_the_control_of_a_test_is_the_median_of_all_others(table: Floats) -> None:
    found = median_of_others(table, 2)
    for row in range(len(table)):
        for column in range(4):
            others = np.delete(table[row], column)
            others = others[np.isfinite(others)]
            if len(others) < 2:
                assert np.isnan(found[row, column])
            else:
                assert found[row, column] == pytest.approx(np.median(others), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(tables)
def test_compressed_nights_keep_order_and_place(table: Floats) -> None:
    values, rows, count = compress(table)
    for column in range(4):
        held = np.nonzero(np.isfinite(table[:, column]))[0]
        assert count[column] == len(held)
        assert rows[: len(held), column].tolist() == held.tolist()
        assert values[: len(held), column].tolist() == table[held, column].tolist()


def test_quantiles_are_linear_ones() -> None:
    values = np.array([[1.0], [2.0], [4.0], [NAN]])
    assert quantiles(values, (0.0, 0.25, 0.5, 1.0))[:, 0].tolist() == [1.0, 1.5, 2.0, 4.0]
    assert np.isnan(quantiles(np.array([[NAN]]), (0.5,))).all()


def test_a_spread_is_robust_and_has_a_floor() -> None:
    calm = np.array([[1.0]] * 9 + [[-50.0]])
    centre, spread = centre_and_spread(calm, floor=0.03)
    assert (centre[0], spread[0]) == (1.0, 0.03)


def test_a_trailing_median_never_sees_tonight() -> None:
    values = np.array([[1.0], [1.0], [1.0], [100.0]])
    assert trailing_median(values, 3, 3)[:, 0].tolist()[3] == 1.0
    assert np.isnan(trailing_median(values, 3, 3)[:3]).all()


def test_only_the_last_kept_nights_count() -> None:
    values = np.arange(5.0)[:, None]
    kept = np.array([[True], [True], [True], [False], [True]])
    assert np.nonzero(np.isfinite(last_kept(values, kept, 2)))[0].tolist() == [2, 4]


@pytest.mark.parametrize("at", [1, 4, 9])
def test_a_step_is_dated(at: int) -> None:
    values = np.array([0.01, -0.02, 0.0, 0.02, -0.01, 0.0, 0.01, 0.0, -0.02, 0.0, 0.01, 0.0])
    values[at:] -= 0.3
    assert date_step(values, 0.0) == at


def test_student_is_near_the_tables() -> None:
    assert student_quantile(0.95, 4) == pytest.approx(2.132, rel=0.01)
    assert student_quantile(0.95, 17) == pytest.approx(1.740, rel=0.001)


def test_an_interval_holds_a_known_shift_and_its_absence() -> None:
    rng = np.random.default_rng(3)
    before, after = rng.normal(0, 0.05, 14), rng.normal(0, 0.05, 6)
    _, low, high = bootstrap_shift(before, after, 0.9, 400, 1)
    assert low <= 0 <= high
    shift, low, high = bootstrap_shift(before, after - 0.3, 0.9, 400, 1)
    assert low <= -0.3 <= high < -0.2
    assert shift == pytest.approx(-0.3, abs=0.08)


def test_intervals_cover_what_they_state() -> None:
    rng = np.random.default_rng(4)
    for nights in (3, 5, 10):
        hits = 0
        for trial in range(300):
            drawn = rng.normal(0, 0.1, 14 + nights)
            _, low, high = bootstrap_shift(drawn[:14], drawn[14:], 0.9, 200, trial)
            hits += low <= 0 <= high
        assert 0.85 <= hits / 300 <= 0.96, nights
