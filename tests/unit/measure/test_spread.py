from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_pario.errors import ParameterError
from pytest_pario.measure.spread import Interval, describe, efficiencies, highest_rate, job_time, spread_of

FINITE = st.floats(-1e6, 1e6, allow_nan=False)


def test_consortium_vector() -> None:
    # CONS-34
    found = describe([1, 2, 3, 4])
    assert (found.least, found.mean, found.most, found.variance_population) == (1, 2.5, 4, 1.25)
    assert found.variance_sample == pytest.approx(5 / 3)
    assert found.deviation_population == math.sqrt(1.25)


def test_gpfs_vector() -> None:
    # GPFS-44
    values = [100, 102, 98, 101, 99, 103, 97]
    found, n = describe(values), len(values)
    textbook = math.sqrt((n * sum(x * x for x in values) - sum(values) ** 2) / (n * (n - 1)))
    assert found.deviation_sample == pytest.approx(2.160246899, abs=1e-9)
    assert found.deviation_sample == pytest.approx(textbook, rel=1e-14)


def test_sample_form_of_one_number_is_undefined() -> None:
    # GPFS-44
    found = describe([3.5])
    assert (found.variance_population, found.variance_sample, found.deviation_sample) == (0, None, None)


def test_small_differences_of_large_numbers_survive() -> None:
    # the textbook formula gives 0 or worse here
    assert describe([1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4]).variance_population == pytest.approx(1.25, rel=1e-12)


@given(st.lists(FINITE, min_size=2, max_size=40))
def test_as_exact_as_fractions(values: list[float]) -> None:
    found = describe(values)
    assert found.variance_population == pytest.approx(statistics.pvariance(values), rel=1e-9, abs=1e-9)
    assert found.variance_sample == pytest.approx(statistics.variance(values), rel=1e-9, abs=1e-9)
    assert found.least <= found.mean <= found.most


@given(FINITE, st.integers(1, 50))
def test_equal_numbers_do_not_vary(value: float, count: int) -> None:
    found = describe([value] * count)
    assert (found.mean, found.variance_population) == (value, 0)


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_what_has_no_statistics_is_refused(values: list[float]) -> None:
    with pytest.raises(ParameterError, match="finite"):
        describe(values)


def test_plain_names_both_forms() -> None:
    # OQ-3
    told = describe([1, 2, 3, 4]).plain()
    assert (told["variance_population"], told["count"]) == (1.25, 4)
    assert told["variance_sample"] == pytest.approx(5 / 3)


def test_spread_between_processes_is_the_consortiums() -> None:
    # CONS-34
    assert spread_of([1, 2, 3, 4]).variance_s2 == 1.25


def test_maximum_is_the_best_iteration() -> None:
    # CONS-32
    assert highest_rate([3.0, 9.0, 4.0]) == 9.0
    with pytest.raises(ParameterError):
        highest_rate([])


def test_both_rules_of_aggregation() -> None:
    # CONS-31, CONS-37, CONS-38: the second process begins late, so the job takes longer than any process
    time = job_time([Interval(10.0, 12.0, 2.0), Interval(11.0, 14.0, 3.0)], clocks_agree=True)
    assert (time.span_s, time.slowest_s) == (4.0, 3.0)
    assert (time.rate_span(12), time.rate_max(12)) == (3.0, 4.0)


def test_no_span_without_a_common_clock() -> None:
    # CONS-38
    time = job_time([Interval(10.0, 12.0, 2.0)], clocks_agree=False)
    assert (time.span_s, time.rate_span(1), time.rate_max(1)) == (None, None, 0.5)
    stepped = job_time([Interval(10.0, 9.0, 2.0)], clocks_agree=True)
    assert stepped.span_s is None


def test_efficiency_against_one_client() -> None:
    # CONS-09
    assert efficiencies({1: 100.0, 2: 150.0, 4: 200.0}) == {1: 1.0, 2: 0.75, 4: 0.5}
    assert efficiencies({2: 150.0}) == {2: None}
