"""MODEL-10, BEFF-24..27: how often a timed pattern is repeated."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_pario.measure.repetition import SoFar, Termination, next_batch, repeat_timed


class Alone:
    """A communicator of one rank."""

    rank = 0

    def Barrier(self) -> None:  # noqa: N802 - MPI's name
        pass

    def bcast(self, value: object, root: int = 0) -> object:
        return value


def simulate(rule: Termination, cost: Callable[[int], float], limit_s: float) -> tuple[int, int, float]:
    """Repetitions, decisions and end of a loop whose call i takes cost(i) seconds."""
    batch, done, decisions, elapsed_s = 1, 0, 0, 0.0
    while batch:
        latest_s = sum(cost(call) for call in range(done, done + batch))
        done, elapsed_s, decisions = done + batch, elapsed_s + latest_s, decisions + 1
        batch = next_batch(rule, SoFar(done, elapsed_s, batch, latest_s), limit_s)
    return done, decisions, elapsed_s


@given(st.floats(1e-3, 1.0), st.floats(0.0, 20.0))
def test_the_geometric_series_ends_in_time_with_few_decisions(cost_s: float, limit_s: float) -> None:  # BEFF-26
    done, decisions, end = simulate("geometric", lambda call: cost_s, limit_s)
    assert end <= max(limit_s, cost_s) * (1 + 1e-9)
    assert end + 1.001 * cost_s >= limit_s  # and fills it
    assert decisions <= math.log2(done + 1) + 6


def plain_series(cost: Callable[[int], float], limit_s: float) -> float:
    """End of the series whose last batch takes all the room that the mean promises."""
    batch, done, elapsed_s = 1, 0, 0.0
    while batch > 0:
        elapsed_s += sum(cost(call) for call in range(done, done + batch))
        done += batch
        batch = min(2 * batch, math.floor((limit_s - elapsed_s) * done / elapsed_s))
    return elapsed_s


@pytest.mark.parametrize("dearer", [1.5, 3.0, 5.0])
def test_a_sudden_rise_of_the_cost_overshoots_by_half_as_much(dearer: float) -> None:  # BEFF-26
    ends, plain = [], []
    for turn in range(500, 10_000, 500):

        def cost(call: int, turn: int = turn) -> float:
            return 1e-4 * (dearer if call >= turn else 1)

        ends.append(simulate("geometric", cost, 1.0)[2])
        plain.append(plain_series(cost, 1.0))
    assert min(ends) >= 0.97
    assert fmean(ends) - 1 <= 0.6 * (fmean(plain) - 1)
    assert max(ends) <= max(plain)


def test_calls_that_grow_slowly_dearer_end_on_time() -> None:  # BEFF-26
    for steep in (1e-4, 2e-4, 5e-4, 1e-3):
        done, decisions, end = simulate("geometric", lambda call, by=steep: 1e-4 * (1 + by * call), 1.0)  # type: ignore[misc]
        assert 0.98 <= end <= 1.05, steep
        assert decisions <= math.log2(done + 1) + 8


@given(st.floats(1e-3, 1.0), st.floats(0.0, 5.0))
def test_per_call_never_overshoots(cost_s: float, limit_s: float) -> None:  # BEFF-24
    done, decisions, end = simulate("per_call", lambda call: cost_s, limit_s)
    assert decisions == done
    assert done == 1 or end <= limit_s * (1 + 1e-9)


@pytest.mark.parametrize("rule", ["geometric", "per_call"])
def test_no_time_means_one_call(rule: Termination) -> None:  # BEFF-24: U = 0
    ran: list[tuple[int, int]] = []
    told = repeat_timed(Alone(), lambda first, last: ran.append((first, last)), 0.0, rule)  # type: ignore[arg-type]
    assert ran == [(0, 1)]
    assert (told.repetitions, told.decisions) == (1, 1)


def test_a_loop_has_an_upper_limit() -> None:
    told = repeat_timed(Alone(), lambda first, last: None, 1e9, "geometric", most=100)  # type: ignore[arg-type]
    assert told.repetitions == 100
