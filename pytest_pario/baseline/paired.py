"""Two configurations measured in pairs: signed ranks, their interval, and a correction over tests and looks. Pure."""

from __future__ import annotations

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
    """Two-sided probability of Wilcoxon's signed-rank statistic, normal approximation, ties averaged."""
    values = differences[differences != 0]
    count = len(values)
    if count == 0:
        return 1.0
    ranks = _ranks(np.abs(values))
    statistic = float(ranks[values > 0].sum())
    mean, variance = count * (count + 1) / 4, float((ranks**2).sum()) / 4
    z = (abs(statistic - mean) - 0.5) / math.sqrt(variance)
    return min(1.0, 2 * NormalDist().cdf(-max(z, 0.0)))


def shift_interval(differences: Floats, confidence: float) -> tuple[float, float, float]:
    """Median of the Walsh averages (Hodges and Lehmann), and the range that the signed-rank test does not reject."""
    count = len(differences)
    rows, columns = np.triu_indices(count)
    averages = np.sort((differences[rows] + differences[columns]) / 2)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    # as many averages are cut off at each end as the statistic may lie below its mean
    cut = max(round(count * (count + 1) / 4 - z * spread), 0)
    cut = min(cut, (len(averages) - 1) // 2)
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
    import dataclasses

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


def looks(most: int) -> list[int]:
    """Numbers of pairs after which it is looked whether everything is decided: 20, then doubling, then the most."""
    found = []
    pairs = LEAST_PAIRS
    while pairs < most:
        found.append(pairs)
        pairs *= 2
    return [*found, most]


def _ranks(values: Floats) -> Floats:
    """Ranks from 1, those of equal values averaged."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    result: Floats = (last - (counts - 1) / 2)[inverse]
    return result
