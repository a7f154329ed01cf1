"""Two configurations measured in pairs: signed ranks, their interval, and a correction over tests and looks. Pure."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from pytest_pario.baseline.statistics import Floats

LEAST_PAIRS = 20
ALPHA = 0.01
"""False decisions per comparison of two equal configurations, over all its tests and looks."""
SPENDING = 3
"""After the part t of all pairs t ** SPENDING of alpha may be spent: little on early looks, most on the last."""
EXACT = 128
"""Up to so many pairs the distribution of the statistic is counted, beyond it is taken for normal."""

Decision = Literal["slower", "faster", "same", "undecided"]


@dataclass(frozen=True)
class Paired:
    """What the pairs of one test say."""

    name: str
    pairs: int
    first: float
    """Median rate of A, MiB/s."""
    second: float
    """Median rate of B, MiB/s."""
    ratio: float
    """B over A."""
    low: float
    high: float
    """Interval of the ratio at the stated confidence."""
    probability: float
    """Of so large a difference between equal configurations, before any correction."""
    decision: Decision = "undecided"


def signed_rank_probability(differences: Floats) -> float:
    """Two-sided probability of Wilcoxon's signed-rank statistic; ties averaged, pairs without a difference left out."""
    values = differences[differences != 0]
    count = len(values)
    if count == 0:
        return 1.0
    ranks = _ranks(np.abs(values))
    statistic = float(ranks[values > 0].sum())
    if count <= EXACT:
        below = _sums_of_ranks(tuple(np.rint(2 * ranks).astype(int)))
        twice = round(2 * statistic)
        return min(1.0, 2 * min(float(below[twice]), float(below[len(below) - 1 - twice])))
    mean, variance = count * (count + 1) / 4, float((ranks**2).sum()) / 4
    z = (abs(statistic - mean) - 0.5) / math.sqrt(variance)
    return min(1.0, 2 * NormalDist().cdf(-max(z, 0.0)))


@functools.lru_cache(maxsize=256)
def _sums_of_ranks(doubled: tuple[int, ...]) -> Floats:
    """Probability that the doubled ranks of the positive differences sum to no more than 0, 1, 2 and so on.

    Every rank is positive or not with probability 1/2:   P_k(s) = (P_{k-1}(s) + P_{k-1}(s - rank_k)) / 2
    """
    chance = np.zeros(sum(doubled) + 1)
    chance[0] = 1.0
    for rank in doubled:
        with_it = np.zeros_like(chance)
        with_it[rank:] = chance[: len(chance) - rank]
        chance = (chance + with_it) / 2
    return np.cumsum(chance)


def shift_interval(differences: Floats, confidence: float) -> tuple[float, float, float]:
    """Median of the Walsh averages (Hodges and Lehmann), and the range that the signed-rank test does not reject."""
    count = len(differences)
    rows, columns = np.triu_indices(count)
    averages = np.sort((differences[rows] + differences[columns]) / 2)
    tail = (1 - confidence) / 2
    # as many averages are cut off at each end as the statistic may be at most to be rejected
    if count <= EXACT:
        below = _sums_of_ranks(tuple(range(2, 2 * count + 1, 2)))[::2]
        cut = int(np.searchsorted(below, tail, side="right")) - 1
    else:
        spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        cut = round(count * (count + 1) / 4 + NormalDist().inv_cdf(tail) * spread)
    cut = min(max(cut, 0), (len(averages) - 1) // 2)
    return float(np.median(averages)), float(averages[cut]), float(averages[len(averages) - 1 - cut])


def compare(name: str, first: Sequence[float], second: Sequence[float], confidence: float) -> Paired:
    """Pairs of rates of one test."""
    a, b = np.asarray(first, float), np.asarray(second, float)
    differences = np.log(b) - np.log(a)
    shift, low, high = shift_interval(differences, confidence)
    return Paired(
        name,
        len(a),
        float(np.median(a)),
        float(np.median(b)),
        math.exp(shift),
        math.exp(low),
        math.exp(high),
        signed_rank_probability(differences),
    )


def decide(tests: Sequence[Paired], effect: float, alpha: float = ALPHA) -> list[Paired]:
    """Decide each test: Holm's correction over tests; `same` where the interval lies within the stated effect."""
    order = sorted(range(len(tests)), key=lambda number: tests[number].probability)
    decisions: dict[int, Decision] = {}
    rejecting = True
    for place, number in enumerate(order):
        test = tests[number]
        rejecting = rejecting and test.probability <= alpha / (len(tests) - place)
        if rejecting:
            decisions[number] = "slower" if test.ratio < 1 else "faster"
        else:
            inside = test.low > 1 - effect and test.high < 1 / (1 - effect)
            decisions[number] = "same" if inside else "undecided"
    return [dataclasses.replace(test, decision=decisions[number]) for number, test in enumerate(tests)]


def looks(most: int) -> dict[int, float]:
    """Pairs after which it is looked whether everything is decided: 20, then doubling, then the most; alpha of each.

    The shares add up to alpha, so that looking several times is paid for.
    """
    stops = []
    pairs = LEAST_PAIRS
    while pairs < most:
        stops.append(pairs)
        pairs *= 2
    spent = [ALPHA * (stop / most) ** SPENDING for stop in (0, *stops, most)]
    return {stop: spent[k + 1] - spent[k] for k, stop in enumerate((*stops, most))}


def confidence_of(most: int) -> float:
    """Of printed intervals: that of the last look, so that what an earlier one decides is decided by them, too."""
    return 1 - looks(most)[most]


def _ranks(values: Floats) -> Floats:
    """Ranks from 1, those of equal values averaged."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    result: Floats = (last - (counts - 1) / 2)[inverse]
    return result
