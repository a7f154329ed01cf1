"""Gates on made-up nights: held without a change, red with one, each state where it belongs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from pytest_pario.baseline.replay import replay, replay_groups
from pytest_pario.baseline.rules import DEFAULT, Gate
from pytest_pario.errors import ParameterError

Floats = npt.NDArray[np.float64]
ONE_GROUP = np.zeros(6, np.int64)


def nights(count: int = 40, seed: int = 1, noise: float = 0.04) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.normal(0, noise, (count, 6)) + rng.normal(0, noise, (count, 1))


def test_nothing_is_red_where_nothing_changes() -> None:
    assert replay(nights(200), ONE_GROUP).red.mean() < 0.005


def test_a_fall_is_red_after_the_window_and_its_peers_hold() -> None:
    logs = nights()
    logs[25:, 0] += np.log(0.8)
    seen = replay(logs, ONE_GROUP)
    assert np.nonzero(seen.red[:, 0])[0][0] == 25 + DEFAULT.unexplained.nights - 1
    assert seen.red[29:, 0].all()  # stands, because red nights are kept out of the baseline
    assert not seen.red[:, 1:].any()


def test_a_change_of_the_environment_shortens_the_window() -> None:
    logs, changed = nights(), np.zeros((40, 6), bool)
    logs[25:, 0] += np.log(0.8)
    changed[25] = True
    seen = replay(logs, ONE_GROUP, changed)
    assert np.nonzero(seen.red[:, 0])[0][0] == 25 + DEFAULT.explained.nights - 1
    assert seen.red_explained[27:, 0].all()


def test_one_bad_night_is_yellow_and_never_red() -> None:
    logs = nights()
    logs[30, 0] += np.log(0.5)
    seen = replay(logs, ONE_GROUP)
    assert seen.yellow[30, 0]
    assert not seen.red.any()


def test_a_night_on_which_everybody_is_low_is_nobodys_fault() -> None:
    logs = nights()
    logs[30:38] += np.log(0.5)
    assert not replay(logs, ONE_GROUP).red.any()
    _, groups = replay_groups(logs, ONE_GROUP)
    assert groups.red[36:38, 0].all()


def test_undoing_it_clears() -> None:
    logs = nights()
    logs[20:30, 0] += np.log(0.7)
    seen = replay(logs, ONE_GROUP)
    assert seen.red[24:30, 0].all()
    assert not seen.red[30:, 0].any()


def test_an_improvement_is_told() -> None:
    logs = nights()
    logs[30:, 0] += np.log(1.4)
    seen = replay(logs, ONE_GROUP)
    assert seen.improved[34, 0]
    assert not seen.red.any()


def test_learning_counts_down_to_the_first_verdict() -> None:
    seen = replay(nights(20), ONE_GROUP)
    assert seen.missing[:15, 0].tolist() == list(range(14, -1, -1))
    assert np.isfinite(seen.unexplained.need[14:]).all()


def test_an_accepted_level_is_the_new_normal_and_falls_from_it_are_found() -> None:
    logs = nights(60)
    logs[20:, 0] += np.log(0.7)
    logs[45:, 0] += np.log(0.7)
    seen = replay(logs, ONE_GROUP, accepts={0: [20]})
    assert not seen.red[:48, 0].any()
    assert seen.accepted[20:23, 0].all()
    assert seen.red[49:, 0].all()


def test_an_acceptance_of_long_ago_moves_no_baseline() -> None:
    logs = nights(300)
    plain, accepted = (replay(logs, ONE_GROUP, accepts=accepts).unexplained for accepts in ({}, {0: [20]}))
    assert accepted.centre[60:] == pytest.approx(plain.centre[60:], abs=1e-12)
    assert accepted.spread[60:] == pytest.approx(plain.spread[60:], abs=1e-12)


def test_two_levels_accepted_one_soon_after_the_other_do_not_widen_the_spread() -> None:
    logs = nights(60, noise=0.01)
    logs[30:, 0] += np.log(0.6)
    logs[36:, 0] += np.log(0.6)
    seen = replay(logs, ONE_GROUP, accepts={0: [30, 36]})
    judged = seen.unexplained.spread[43:60, 0]
    assert np.isfinite(judged).all()
    assert judged.max() <= DEFAULT.spread_floor


def test_missing_nights_are_passed_over() -> None:
    logs = nights()
    logs[25:, 0] += np.log(0.7)
    logs[26:36:2, 0] = np.nan
    seen = replay(logs, ONE_GROUP)
    held = np.nonzero(np.isfinite(logs[:, 0]))[0]
    assert np.nonzero(seen.red[:, 0])[0][0] == held[held >= 25][DEFAULT.unexplained.nights - 1]


def test_a_test_without_peers_is_judged_by_itself() -> None:
    logs = nights(noise=0.02)[:, :1]
    logs[25:] += np.log(0.7)
    assert replay(logs, np.zeros(1, np.int64)).red[29:].all()


def test_a_gate_checks_itself() -> None:
    with pytest.raises(ParameterError, match="fewer excused"):
        Gate(3, 0.1, 0.1, 0.1, 0.1, excused=3)
