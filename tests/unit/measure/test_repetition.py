"""MODEL-10, BEFF-24..27: how often a timed pattern is repeated."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_pario.measure.repetition import Termination, next_batch, repeat_timed


class Alone:
    """A communicator of one rank."""

    rank = 0

    def Barrier(self) -> None:  # noqa: N802 - MPI's name
        pass

    def bcast(self, value: object, root: int = 0) -> object:
        return value


def simulate(rule: Termination, cost_s: float, limit_s: float) -> tuple[int, int, float]:
    """Repetitions, decisions and end of a loop whose calls all cost the same."""
    batch, done, decisions = 1, 0, 0
    while batch:
        done += batch
        decisions += 1
        batch = next_batch(rule, done * cost_s, done, batch, limit_s)
    return done, decisions, done * cost_s


@given(st.floats(1e-6, 1.0), st.floats(0.0, 100.0))
def test_the_geometric_series_ends_in_time_with_few_decisions(cost_s: float, limit_s: float) -> None:  # BEFF-26
    done, decisions, end = simulate("geometric", cost_s, limit_s)
    assert end <= max(limit_s, cost_s) * (1 + 1e-9)
    assert end + 1.001 * cost_s >= limit_s  # and fills it
    assert decisions <= 2 * math.log2(done + 1) + 2


@given(st.floats(1e-3, 1.0), st.floats(0.0, 5.0))
def test_per_call_never_overshoots(cost_s: float, limit_s: float) -> None:  # BEFF-24
    done, decisions, end = simulate("per_call", cost_s, limit_s)
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
