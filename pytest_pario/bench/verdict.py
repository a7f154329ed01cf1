"""`pario bench verdict`: false alarms, detection, dates, intervals and speed of the verdict on recorded nights."""

from __future__ import annotations

import dataclasses
import functools
import time
from pathlib import Path

import numpy as np

from pytest_pario.baseline.replay import replay, replay_groups
from pytest_pario.baseline.rules import DEFAULT
from pytest_pario.baseline.statistics import Bools
from pytest_pario.baseline.together import replay_nights
from pytest_pario.bench.verdict_cover import print_coverage
from pytest_pario.bench.verdict_data import Nights, read_nights
from pytest_pario.bench.verdict_lasting import lasting_falls
from pytest_pario.bench.verdict_pairs import print_pairs
from pytest_pario.bench.verdict_score import PEERS, Score, margins_of, plain_margins, score_gate, score_peer
from pytest_pario.bench.verdict_union import ACCEPTED, Year, operator_year, score_union

SHIPPED = Path(__file__).parent / "nights"
SHUFFLES = 20
SEED = 20240229
PLAIN = {3: 0.75, 5: 0.3, 7: 0.3}
"""Windows of the plain rule, and how many spreads it asks for."""
PLAIN_GROUP = {"explained": 1.5, "unexplained": 0.3}
"""Spreads that the plain rule asks of a group's median, by the gate of ours that it stands beside."""
HEAD = (
    f"{'rule':<28}{'false':>7} {'90 %':<13} {'slumps':>6} {'strict':>6} {'in 1 night':<13}{'in the window':<15}window"
)


def run_verdict_bench(data: Path | None) -> int:
    """Print every table for every data set."""
    for nights in read_nights(data or SHIPPED):
        print(f"\n=== {nights.name}: {len(nights.labels)} series, {len(nights.logs)} nights")
        if nights.repetitions:
            _print_shuffled(nights)
            print_pairs(nights)
        else:
            _print_year(nights)
        print_coverage(nights)
    _print_speed()
    return 0


# --- nights as they were ------------------------------------------------------------------------------------------


def _print_year(nights: Nights) -> None:
    print("false: reds per 100 tests per night that are gone within 14 nights, with a 90 % interval over series;")
    print("slumps: those of them where the whole window lay 20 % below; strict: gone beside the control counts too;")
    print("found: % of falls of 5/10/20/30 %; verdict: what an operator gets, red by its own gate or with its group;")
    print("its events: reds of one group on one night are one, and there the falls are of the whole group")
    everything = np.ones(len(nights.labels), bool)
    halves = (("tuning half (even places)", nights.tuning), ("final half (odd places)", ~nights.tuning))
    for half, columns in (*halves, ("all series", everything)):
        print(f"\n{half}\n{HEAD}")
        for rule in PEERS:
            once, thrice = (score_peer(rule, nights.logs, columns, number, False) for number in (1, 3))
            _print_score(thrice, once)
        for score in [*_score_plain(nights, columns), *_score_gates(nights, columns)]:
            _print_score(score)
        for name in ("explained", "unexplained"):
            for score in score_union(nights, columns, name):
                _print_score(score)
        for direction in sorted({label.split()[-1] for label in nights.group_labels}):
            for score in _score_gates(nights, columns & _of_direction(nights, direction), f", {direction}s"):
                _print_score(score)
    print()
    for name in PLAIN_GROUP:
        for score in _score_groups(nights, name):
            _print_score(score)
    year = operator_year(nights)
    _print_standing(year)
    print("\nlasting falls of the year: at least 15 % for 21 nights, found by fitting steps to the whole series")
    for line in lasting_falls(nights, year):
        print(f"  {line}")


def _of_direction(nights: Nights, direction: str) -> Bools:
    """Which series read, or write."""
    return np.array([nights.group_labels[group].split()[-1] == direction for group in nights.groups])


def _score_gates(nights: Nights, columns: Bools, of: str = "") -> list[Score]:
    """Every gate asked afresh every night, as the peers are."""
    if not columns.any():
        return []
    scores = []
    waiting = dataclasses.replace(DEFAULT, unexplained=DEFAULT.calm)
    for name, place, rules in (
        ("explained", "explained", DEFAULT),
        ("unexplained", "unexplained", DEFAULT),
        ("calm", "unexplained", waiting),
    ):
        seen = replay(nights.logs, nights.groups, rules=rules, keep_out=False)
        trace, gate = getattr(seen, place), getattr(rules, place)
        margins = functools.partial(margins_of, gate, trace)
        scores.append(score_gate(f"pario, {name}{of}", seen, trace, margins, columns))
    return scores


def _score_plain(nights: Nights, columns: Bools) -> list[Score]:
    """The plain rule with its windows of 3, 5 and 7 nights."""
    scores = []
    for window, spreads in PLAIN.items():
        gate = dataclasses.replace(DEFAULT.unexplained, nights=window)
        rules = dataclasses.replace(DEFAULT, unexplained=gate)
        seen = replay(nights.logs, nights.groups, rules=rules, keep_out=False)
        margins = functools.partial(plain_margins, window, spreads, seen.unexplained)
        scores.append(score_gate(f"plain gate, window {window}", seen, seen.unexplained, margins, columns))
    return scores


def _score_groups(nights: Nights, name: str) -> list[Score]:
    """The plain rule and ours on the groups' medians; falls are injected into all of a group."""
    groups, seen = replay_groups(nights.logs, nights.groups, keep_out=False)
    trace, gate, everything = getattr(seen, name), getattr(DEFAULT, f"group_{name}"), np.ones(len(groups), bool)
    plain = functools.partial(plain_margins, gate.nights, PLAIN_GROUP[name], trace)
    ours = functools.partial(margins_of, gate, trace)
    return [
        score_gate(f"plain group, window {gate.nights}", seen, trace, plain, everything),
        score_gate(f"group, {name}", seen, trace, ours, everything),
    ]


def _print_standing(year: Year) -> None:
    """As an operator meets them: red nights kept out of baselines, reds accepted once they stood for 14 nights."""
    new = int(year.begun.sum())
    print(
        f"replayed with red nights kept out and reds accepted after {ACCEPTED} nights: "
        f"{100 * new / year.judged:.2f} new reds per 100 tests per night, {new} in the year"
    )


def _print_score(score: Score, once: Score | None = None) -> None:
    first = "/".join(f"{part:.0f}" for part in once.found) if once else "-"
    found = "/".join(f"{part:.0f}" for part in score.found)
    told = f"[{score.interval[0]:.2f}, {score.interval[1]:.2f}] {score.slumps:>6.2f} {score.strict:>6.2f}"
    told = told if once is None and np.isfinite(score.strict) else "-"
    print(f"{score.name:<28}{score.false:>7.2f} {told:<28} {first:<13}{found:<15}{score.nights} nights")


# --- nights in shuffled order -------------------------------------------------------------------------------------


def _print_shuffled(nights: Nights) -> None:
    """Every alarm is false, because the order of the nights is by chance."""
    rng = np.random.default_rng(SEED)
    false: dict[str, list[float]] = {}
    everything = np.ones(len(nights.labels), bool)
    for _ in range(SHUFFLES):
        logs = nights.logs[rng.permutation(len(nights.logs))]
        for rule in PEERS:
            false.setdefault(rule.name, []).append(score_peer(rule, logs, everything, 1, True).false)
        seen = replay_nights(logs, nights.groups, keep_out=False)
        for name, trace in (("pario, explained", seen.tests.explained), ("pario, unexplained", seen.tests.unexplained)):
            held = np.isfinite(trace.need)
            false.setdefault(name, []).append(100 * float((trace.need[held] < 0).mean()))
        false.setdefault("verdict, unexplained", []).append(100 * float(seen.red[held].mean()))
    print(f"nights in shuffled order, {SHUFFLES} times: every red is false; per 100 tests per night")
    for name, values in false.items():
        print(f"{name:<28}{np.mean(values):>7.2f}")


# --- speed ------------------------------------------------------------------------------------------


def _print_speed() -> None:
    rng = np.random.default_rng(SEED)
    samples = rng.normal(0, 0.05, (60, 500, 10)) + rng.normal(0, 0.1, (60, 500, 1))
    groups = np.arange(500) % 10
    times = []
    for _ in range(3):
        begun = time.process_time()
        logs = np.median(samples, axis=2)
        replay_nights(logs, groups)
        times.append(time.process_time() - begun)
    print(f"\njudging 500 tests x 60 nights x 10 samples: {min(times):.2f} s of CPU time, least of {len(times)}")
