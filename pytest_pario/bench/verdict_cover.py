"""How often printed intervals hold the truth: nights in order and shuffled, held and red, as the verdict has them."""

from __future__ import annotations

import dataclasses

import numpy as np

from pytest_pario.baseline.effect import both_levels, shift_between, widening
from pytest_pario.baseline.rules import DEFAULT
from pytest_pario.baseline.statistics import Bools, Floats
from pytest_pario.baseline.together import replay_nights
from pytest_pario.bench.verdict_data import Nights
from pytest_pario.bench.verdict_lasting import SPAN, find_steps

SEED = 20240229
FALLS = {0.0: "held, no fall", 0.2: "red, a fall of 20 %", 0.3: "red, a fall of 30 %"}
AFTER = (5, 9)
"""Nights for which an injected fall has lasted when the interval is read."""
BEFORE = 90
"""Nights of history that are replayed."""
LEARNT = 45
STEP = 6
"""Nights from one reading to the next."""
LEAST = 10
"""Fewer readings are not told."""


def print_coverage(nights: Nights) -> None:
    """In order where the nights hold no true change that is not known; shuffled in any case."""
    print(f"\ncover of the {DEFAULT.confidence:.0%} interval of an effect, against the fall that was put in:")
    if not nights.repetitions:
        for half, columns in (("tuning half", nights.tuning), ("final half", ~nights.tuning)):
            _print_rows(f"in order, {half}", nights, columns, _near_steps(nights))
    order = np.random.default_rng(SEED).permutation(len(nights.logs))
    everything = np.ones(len(nights.labels), bool)
    shuffled = dataclasses.replace(nights, logs=nights.logs[order])
    _print_rows("shuffled", shuffled, everything, np.zeros(nights.logs.shape, bool))


def _near_steps(nights: Nights) -> Bools:
    """Nights about which a series had a lasting step of its own: the truth is not known there."""
    found = np.zeros(nights.logs.shape, bool)
    for column in range(len(nights.labels)):
        rows = np.nonzero(np.isfinite(nights.logs[:, column]))[0]
        for sign in (1.0, -1.0):
            for step in find_steps(sign * nights.logs[rows, column], rows):
                found[max(step.night - SPAN, 0) : step.night + SPAN + STEP, column] = True
    return found


def _print_rows(name: str, nights: Nights, columns: Bools, unknown: Bools) -> None:
    for drop, told in FALLS.items():
        for after in AFTER if drop else AFTER[:1]:
            holds = _readings(nights, columns, unknown, drop, after)
            if len(holds) >= LEAST:
                lasted = f" for {after} nights" if drop else ""
                print(f"{name:<22}{told + lasted:<32}{100 * np.mean(holds):>6.1f} % of {len(holds)}")


def _readings(nights: Nights, columns: Bools, unknown: Bools, drop: float, after: int) -> list[bool]:
    """Whether each interval holds the fall; one test of each group falls at a time, the others are its control."""
    rng, holds = np.random.default_rng(SEED), []
    members = [here for one in np.unique(nights.groups) if len(here := np.nonzero((nights.groups == one) & columns)[0])]
    step = STEP if len(nights.logs) > 2 * BEFORE else 1
    for night in range(LEARNT, len(nights.logs) - after, step):
        logs: Floats = nights.logs[max(0, night - BEFORE) : night + after].copy()
        chosen = [int(rng.choice(some)) for some in members]
        logs[-after:, chosen] += np.log(1 - drop)
        seen = replay_nights(logs, nights.groups)
        for column in chosen:
            known = np.isfinite(seen.tests.unexplained.centre[-1, column]) and not unknown[night, column]
            if not known or seen.improved[-1, column] or seen.red[-1, column] != (drop > 0):
                continue
            before, level = both_levels(seen, column, DEFAULT)
            if len(before) < DEFAULT.accepted_least:
                continue
            width = widening(seen, drop > 0, DEFAULT)
            _, low, high = shift_between(before, level, width, DEFAULT, night)
            holds.append(bool(low <= np.log(1 - drop) <= high))
    return holds
