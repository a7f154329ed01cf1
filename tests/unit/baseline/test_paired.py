"""Pairs: a known change, none, and what is done about many tests and many looks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from pytest_pario.baseline.paired import (
    ALPHA,
    EXACT,
    compare,
    confidence_of,
    decide,
    looks,
    shift_interval,
    signed_rank_probability,
)
from pytest_pario.baseline.series import read_entry
from pytest_pario.errors import ParameterError, SessionError, VerificationError
from pytest_pario.report.paired import paired_lines
from pytest_pario.session import ab
from pytest_pario.session.ab import Limits, Pairs, compare_configurations, pair_order, run_pairs
from pytest_pario.session.ab_run import Configuration, Measured, measured, parse_configuration
from tests.unit.baseline.nights import entry


def rates(change: float, seed: int, pairs: int = 40) -> tuple[list[float], list[float]]:
    rng = np.random.default_rng(seed)
    common = rng.normal(0, 0.5, pairs)  # what both sides of a pair share
    return list(100 * np.exp(common + rng.normal(0, 0.05, pairs))), list(
        100 * (1 + change) * np.exp(common + rng.normal(0, 0.05, pairs))
    )


def rated(rates: Mapping[str, float]) -> dict[str, Measured]:
    return {name: Measured(float(rate), "write") for name, rate in rates.items()}


def test_a_change_is_found_under_noise_that_both_sides_share() -> None:
    slower, same = (decide([compare("t", *rates(change, 1), 0.99)], 0.1)[0] for change in (-0.1, 0.0))
    assert slower.decision == "slower"
    assert slower.low < 0.9 < slower.high < 1
    assert same.decision == "same"
    assert paired_lines("a", "b", [same, slower], 0.99)[3].endswith("slower")


def test_equal_sides_are_seldom_called_different_and_intervals_cover() -> None:
    rng = np.random.default_rng(2)
    drawn = [rng.standard_t(2, 30) for _ in range(600)]
    assert np.mean([signed_rank_probability(one) <= 0.01 for one in drawn]) < 0.025
    assert 0.87 <= np.mean([low <= 0 <= high for _, low, high in (shift_interval(one, 0.9) for one in drawn)]) <= 0.93
    assert signed_rank_probability(np.zeros(20)) == 1.0


def test_many_tests_are_paid_for() -> None:
    tests = [compare(f"t{seed}", *rates(0.0, seed), 0.99) for seed in range(200)]
    assert sum(one.decision in ("slower", "faster") for one in decide(tests, 0.1)) <= 1


def test_runs_are_interleaved() -> None:
    assert [pair_order(pair, 1) for pair in (0, 1)] == [[0, 1], [1, 0]]
    assert pair_order(0, 3) == [0, 1, 1, 0, 0, 1]
    assert pair_order(1, 3) == [1, 0, 0, 1, 1, 0]


def test_most_of_alpha_is_kept_for_the_last_look() -> None:
    stops = looks(60)
    assert list(stops) == [20, 40, 60]
    assert sum(stops.values()) == pytest.approx(ALPHA)
    assert list(stops.values()) == pytest.approx([0.00037, 0.0026, 0.0070], rel=0.02)
    assert looks(20) == {20: ALPHA}


def test_few_pairs_are_counted_exactly() -> None:
    assert signed_rank_probability(np.arange(1.0, 6.0)) == 2 / 2**5
    # by hand: of 8 signs of the ranks 1, 2, 3 those with sums of 0, 1 (and 5, 6) are as far off as 1 against 5
    assert signed_rank_probability(np.array([-1.0, 2.0, 3.0])) == 4 / 8
    # ranks 1.5, 1.5, 3: 1.5 or less is 0 or one of two ties
    assert signed_rank_probability(np.array([1.0, -1.0, 2.0])) == 6 / 8
    for count in (EXACT, EXACT + 1):
        drawn = np.random.default_rng(count).normal(0.2, 1, count)
        mean, variance = count * (count + 1) / 4, count * (count + 1) * (2 * count + 1) / 24
        ranks = np.argsort(np.argsort(np.abs(drawn))) + 1
        z = (abs(ranks[drawn > 0].sum() - mean) - 0.5) / variance**0.5
        assert signed_rank_probability(drawn) == pytest.approx(2 * NormalDist().cdf(-z), rel=0.05)


def test_many_tests_can_be_decided_at_the_first_look() -> None:
    tests = [compare(f"t{seed}", *rates(-0.3, seed, 20), confidence_of(60)) for seed in range(100)]
    assert {one.decision for one in decide(tests, 0.1, looks(60)[20])} == {"slower"}


def test_configurations_are_words() -> None:
    one = parse_configuration("A", "hint:cb_nodes=2 env:X=1 dir=/d python=/opt/python source=/etc/setup 'param:p=a b'")
    assert one.options == ("--pario-param", "hint:cb_nodes=2", "--pario-dir", "/d", "--pario-param", "p=a b")
    assert (one.environment, one.python, one.source) == ({"X": "1"}, "/opt/python", "/etc/setup")
    assert parse_configuration("A", "plain").options == ()
    with pytest.raises(ParameterError, match="hint:KEY=VALUE"):
        parse_configuration("B", "nonsense")
    with pytest.raises(ParameterError, match="20 or more"):
        Limits(most=5)
    with pytest.raises(ParameterError, match="positive number of seconds"):
        Limits(limit_s=0)


@pytest.mark.parametrize(("change", "status", "pairs"), [(-0.3, 3, 20), (0.0, 0, 20)])
def test_ab_stops_once_everything_is_decided(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: float, status: int, pairs: int
) -> None:
    rng = np.random.default_rng(5)
    order: list[str] = []

    def run_once(side: Configuration, *_rest: object) -> dict[str, Measured]:
        order.append(side.text)
        level = 100 * (1 + change) if side.text != "plain" else 100.0
        return rated({"t::slow": level * np.exp(rng.normal(0, 0.02)), "t::same": np.exp(rng.normal(0, 0.02))})

    monkeypatch.setattr(ab, "run_once", run_once)
    output = tmp_path / "pairs.json"
    found, lines = compare_configurations("plain", "hint:k=v", 2, Limits(runs=2), None, [], output)
    assert found == status
    assert order[:8] == ["plain", "hint:k=v", "hint:k=v", "plain", "hint:k=v", "plain", "plain", "hint:k=v"]
    assert len(json.loads(output.read_text())["rates"][0]["t::slow"]) == pairs
    assert ("slower" in lines[3]) == (status == 3)


def test_a_run_that_fails_costs_its_pair_only() -> None:
    rng, calls = np.random.default_rng(5), iter(range(10_000))

    def run(side: int, _left: float | None) -> dict[str, Measured]:
        if next(calls) in (7, 40):
            raise SessionError("node 3 went down")
        return rated({"t": (100 - 30 * side) * np.exp(rng.normal(0, 0.02))})

    pairs = Pairs(Limits(runs=1), run)
    (decided,) = run_pairs(pairs)
    assert (decided.decision, pairs.count, len(pairs.failures)) == ("slower", 20, 2)
    assert pairs.lines() == ["2 runs failed, each pair was taken anew; the last: node 3 went down"]


@pytest.mark.parametrize(("works", "tries"), [(0, 2), (4, 10)])
def test_what_keeps_failing_is_given_up(works: int, tries: int) -> None:
    made: list[int] = []

    def run(side: int, _left: float | None) -> dict[str, Measured]:
        made.append(side)
        if len(made) > works:
            raise SessionError("no such option")
        return rated({"t": 1.0})

    pairs = Pairs(Limits(runs=1), run)
    if works:
        assert run_pairs(pairs) == []
        assert pairs.lines()[-1] == "6 runs failed after 2 pairs; a decision needs 20"
    else:
        with pytest.raises(SessionError, match="runs failed; the last: no such option"):
            run_pairs(pairs)
    assert len(made) == tries


def test_giving_up_keeps_the_pairs_that_there_are() -> None:
    rng, calls = np.random.default_rng(5), iter(range(10_000))

    def run(side: int, _left: float | None) -> dict[str, Measured]:
        if next(calls) >= 50:
            raise SessionError("node 3 went down")
        return rated({"t": (100 - 30 * side) * np.exp(rng.normal(0, 0.5))})  # too noisy for 20 pairs

    pairs = Pairs(Limits(runs=1), run)
    decided = run_pairs(pairs)
    assert [one.pairs for one in decided] == [25]
    assert pairs.lines()[-1] == "6 runs failed after 25 pairs"


def test_an_interruption_says_what_is_known_and_loses_no_pair(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = iter(range(10_000))

    def run_once(*_all: object) -> dict[str, Measured]:
        if next(made) == 9:
            os.kill(os.getpid(), signal.SIGTERM)  # the time limit of a batch system
        return rated({"t": 1.0})

    monkeypatch.setattr(ab, "run_once", run_once)
    output = tmp_path / "pairs.json"
    before = signal.getsignal(signal.SIGTERM)
    status, lines = compare_configurations("plain", "plain", 2, Limits(runs=1), None, [], output)
    assert (status, lines[0]) == (4, "it was interrupted after 4 pairs; a decision needs 20")
    assert len(json.loads(output.read_text())["rates"][0]["t"]) == 4
    assert signal.getsignal(signal.SIGTERM) is before


def test_wrong_bytes_end_it_and_name_the_side(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_once(side: Configuration, *_rest: object) -> dict[str, Measured]:
        if side.text != "plain":
            raise VerificationError(side.text, "t: 64 wrong bytes")
        return rated({"t": 1.0})

    monkeypatch.setattr(ab, "run_once", run_once)
    status, lines = compare_configurations("plain", "hint:k=v", 2, Limits(), None, [])
    assert (status, lines[0]) == (1, "WRONG BYTES hint:k=v: t: 64 wrong bytes")


def test_unlike_things_and_tests_that_come_and_go_are_not_compared() -> None:
    calls = iter(range(10_000))

    def run(side: int, _left: float | None) -> dict[str, Measured]:
        found = {**rated({"t": 100.0 - 30 * side}), "u": Measured(1.0, f"read {('cached', 'uncached')[side]}")}
        return found | (rated({"v": 1.0}) if next(calls) != 5 else {})

    pairs = Pairs(Limits(runs=1), run)
    (decided,) = run_pairs(pairs)
    assert (decided.name, decided.decision) == ("t", "slower")
    assert pairs.lines() == [
        "not compared: u: unlike things: read cached / read uncached",
        "not compared: v: missing from 1 of 20 pairs",
    ]


@pytest.mark.parametrize(("whole", "known"), [(12, []), (25, [25])])
def test_a_limit_of_time_ends_it_with_what_is_known(whole: int, known: list[int]) -> None:
    rng = np.random.default_rng(5)

    def run(_side: int, left: float | None) -> dict[str, Measured]:
        assert left is not None
        if pairs.count == whole:
            raise subprocess.TimeoutExpired("mpiexec", left)
        return rated({"t": np.exp(rng.normal(0, 0.5))})  # too noisy for 20 pairs

    pairs = Pairs(Limits(runs=1, limit_s=1000.0), run)
    decided = run_pairs(pairs)
    assert pairs.count == whole
    assert [one.pairs for one in decided] == known
    assert f"--limit 1000 s was reached after {whole} pairs" in pairs.lines()[0]


def test_what_is_measured_is_told_apart_from_where() -> None:
    def kind(phase: str, state: str, **more: object) -> str:
        one = entry("p", [3.0, 1.0, 2.0], phase, **more)
        one["extra_info"]["record"]["facts"]["cache"]["state"] = state
        sample = read_entry(one)
        assert sample is not None
        assert measured(sample).rate == 2.0
        return measured(sample).kind

    assert kind("read", "cold") == kind("read", "client-cold", filesystem_type="nfs", ranks_per_node=1)
    assert kind("read", "cold") != kind("read", "cached")
