"""Comparisons of two configurations on recorded repetitions, decided as `pario ab` decides them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_pario.baseline.paired import Paired, compare, confidence_of, decide, looks
from pytest_pario.baseline.statistics import Floats, Ints
from pytest_pario.bench.verdict_data import Nights
from pytest_pario.bench.verdict_score import DROPS
from pytest_pario.session.ab import Limits, pair_order

SEED = 20240229
TRIALS = {1: 4000, 12: 1000}
"""Numbers of tests, and how many comparisons of equal configurations are made of so many."""
FALLS = 300
"""Of those, how many are repeated with each fall."""


@dataclass(frozen=True)
class Order:
    """How the repetitions of a night become the runs of a pair."""

    name: str
    runs: int
    """Of each side in a pair."""
    rounds: int
    """Repetitions of a run."""


ORDERS = (
    Order("runs A B B A A B", 3, 1),
    Order("blocks A A A B B B (--runs 1, 3 rounds)", 1, 3),
    Order("single runs A B (--runs 1)", 1, 1),
)
HEAD = (
    f"{'order of a pair':<40}{'tests':>5}{'pairs':>6}{'false %':>9}{'same %':>8}  "
    f"{'found of 5/10/20/30 %':<22}  interval holds the truth"
)


@dataclass
class _Tally:
    false: int = 0
    same: int = 0
    covered: int = 0
    intervals: int = 0


def print_pairs(nights: Nights) -> None:
    """Every order for one test, and the usual one for many; a fall is that of one test among equal ones."""
    limits = Limits()
    stops = ", ".join(f"{stop} pairs {100 * alpha:.2f} %" for stop, alpha in looks(limits.most).items())
    print(f"\n`pario ab` on pairs of a night's repetitions: looks at {stops}; Holm's correction over tests;")
    print(
        "false: comparisons of equal configurations in which any test is called slower or faster; same: tests of them"
    )
    print(f"that are called the same within {limits.effect:.0%}; found: a test called slower, the others being equal")
    print(HEAD)
    for order in ORDERS:
        for tests, trials in TRIALS.items() if order is ORDERS[0] else [(1, TRIALS[1])]:
            for most in (20, limits.most):
                told = score_order(nights, order, tests, most, trials)
                if told:
                    print(told)


def score_order(nights: Nights, order: Order, tests: int, most: int, trials: int) -> str:
    """One row; empty where there are too few nights, repetitions or series for it."""
    needed = 2 * order.runs * order.rounds
    whole = np.stack([table[:, :needed] for table in nights.repetitions], axis=2)
    whole = whole[np.isfinite(whole).all(axis=(1, 2))]
    if whole.shape[0] < most or whole.shape[1] < needed or whole.shape[2] < tests:
        return ""
    rng, tally, found = np.random.default_rng(SEED), _Tally(), np.zeros(len(DROPS))
    sides = np.array([pair_order(pair, order.runs) for pair in range(most)])
    for trial in range(trials):
        drawn = whole[rng.permutation(len(whole))[:most]][:, :, rng.permutation(whole.shape[2])[:tests]]
        first, second = _pairs(drawn, sides, order)
        equal = _Comparison(first, second, most)
        decided = equal.decided()
        tally.false += any(one.decision in ("slower", "faster") for one in decided)
        tally.same += sum(one.decision == "same" for one in decided)
        tally.covered += sum(one.low <= 1 <= one.high for one in decided)
        tally.intervals += len(decided)
        for number, drop in enumerate(DROPS if trial < FALLS else ()):
            found[number] += equal.decided(drop)[0].decision == "slower"
    shares = "/".join(f"{100 * part:.0f}" for part in found / min(trials, FALLS))
    false, same = 100 * tally.false / trials, 100 * tally.same / (tests * trials)
    cover = f"{100 * tally.covered / tally.intervals:.1f} % of {100 * confidence_of(most):.1f} %"
    return f"{order.name:<40}{tests:>5}{most:>6}{false:>9.2f}{same:>8.0f}  {shares:<22}  {cover}"


def _pairs(drawn: Floats, sides: Ints, order: Order) -> tuple[Floats, Floats]:
    """Rates (pairs, tests) of both sides from repetitions (pairs, repetitions, tests): medians of runs of medians."""
    pairs, _, tests = drawn.shape
    runs = np.median(np.exp(drawn).reshape(pairs, 2 * order.runs, order.rounds, tests), axis=2)
    found = [np.stack([np.median(runs[pair, sides[pair] == side], axis=0) for pair in range(pairs)]) for side in (0, 1)]
    return found[0], found[1]


class _Comparison:
    """Rates (pairs, tests) of both sides, looked at as often as `pario ab` looks at them."""

    def __init__(self, first: Floats, second: Floats, most: int) -> None:
        self.first, self.second, self.most = first, second, most
        self._equal: dict[int, list[Paired]] = {}

    def decided(self, drop: float = 0.0) -> list[Paired]:
        """What is decided in the end, where the second side of the first test is lower by a part."""
        decided: list[Paired] = []
        for stop, alpha in looks(self.most).items():
            if stop not in self._equal:
                self._equal[stop] = [self._at(stop, test) for test in range(self.first.shape[1])]
            tests = [self._at(stop, 0, drop), *self._equal[stop][1:]]
            decided = decide(tests, Limits().effect, alpha)
            if all(one.decision != "undecided" for one in decided):
                break
        return decided

    def _at(self, stop: int, test: int, drop: float = 0.0) -> Paired:
        first, second = self.first[:stop, test], self.second[:stop, test] * (1 - drop)
        return compare(str(test), first.tolist(), second.tolist(), confidence_of(self.most))
