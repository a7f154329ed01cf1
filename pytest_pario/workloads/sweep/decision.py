"""Which hint sets surely gain: exact signed ranks of fresh pairs, Holm's correction over the sets tested. Pure numpy.

A pair is one measurement of a set and one of the default right before or after it, in an order that is drawn. Where
the set does nothing, the two could as well be exchanged, so that every sign of the difference is as likely as the other
one, whatever the noise looks like: the probability is exact for any number of rounds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pytest_pario.errors import ParameterError

ALPHA = 0.05
"""False recommendations of a pattern and phase on which no set gains anything."""
CANDIDATES = 3
"""Sets that are tested after all were looked at: each further one asks for more rounds."""


def least_rounds(tests: int, alpha: float = ALPHA) -> int:
    """Rounds below which not even a gain in every one of them could be told from chance in so many tests."""
    # 2^-rounds <= alpha / tests
    return int(np.ceil(np.log2(max(1, tests) / alpha)))


def draw_pairs(candidates: Sequence[int], rounds: int, seed: int) -> list[list[int]]:
    """Set numbers of each round: every candidate beside the default (0), both orders as likely."""
    if rounds < 1:
        raise ParameterError("test_rounds", rounds, "1 or more", "--test-rounds")
    rng = np.random.default_rng(seed)
    plans = []
    for _ in range(rounds):
        plan: list[int] = []
        for one in rng.permutation(list(candidates)).tolist():
            plan += [0, one] if rng.integers(2) else [one, 0]
        plans.append(plan)
    return plans


def pair_ratios(plan: Sequence[int], rates: Sequence[float]) -> dict[int, float]:
    """Ratio of each candidate of one round to the default beside it."""
    if len(plan) != len(rates) or len(plan) % 2:
        raise ParameterError("plan", plan, "pairs of a set and the default, a rate for each")
    found = {}
    for place in range(0, len(plan), 2):
        first, second = plan[place], plan[place + 1]
        ratio = rates[place + 1] / rates[place]
        found[second or first] = ratio if second else 1 / ratio
    return found


def gain_probability(ratios: Sequence[float]) -> float:
    """Probability of signed ranks at least as high where nothing gains: exact, ties averaged, equal rates left out."""
    logs = np.log(np.asarray(ratios, dtype=np.float64))
    logs = logs[logs != 0]
    ranks = doubled_ranks(np.abs(logs))
    # each rank counts with probability 1/2: convolve the distributions of all of them
    chances = np.ones(1)
    for rank in ranks.tolist():
        chances = (np.append(chances, np.zeros(rank)) + np.append(np.zeros(rank), chances)) / 2
    return min(1.0, float(chances[int(ranks[logs > 0].sum()) :].sum()))


def doubled_ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Twice the rank of each value, which is whole although equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((2 * last - counts + 1)[inverse], dtype=np.int64)


def reject(probabilities: Sequence[float], alpha: float = ALPHA) -> list[bool]:
    """Which gains are sure when all tests together may err with probability `alpha` (Holm)."""
    sure = [False] * len(probabilities)
    for place, number in enumerate(sorted(range(len(probabilities)), key=lambda one: probabilities[one])):
        if probabilities[number] > alpha / (len(probabilities) - place):
            break
        sure[number] = True
    return sure
