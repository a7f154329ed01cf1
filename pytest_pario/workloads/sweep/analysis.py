"""From the rates of a sweep to ratios with intervals and a recommendation. Pure numpy.

In each round every set is measured between two measurements of the default; its ratio in that round is its rate over
the geometric mean of the two. The ratio of a set is the median over the rounds, its interval the percentiles of medians
of resampled rounds. A set is recommended only if the interval at a level that allows for the number of sets
(Bonferroni) lies above 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_pario.errors import ParameterError
from pytest_pario.workloads.sweep.matrix import HintSet

LEVEL = 0.90
RESAMPLES = 2000
LEAST_GAIN = 1.03
"""A gain below this is not worth another set of hints."""


@dataclass(frozen=True)
class Cell:
    """One hint set on one pattern and phase."""

    hints: HintSet
    rate: float
    """Median MiB/s."""
    ratio: float
    """Against the default of the same rounds; more is better."""
    low: float
    high: float
    sure: bool
    """Whether the interval that allows for the number of sets lies above 1."""
    in_force: Mapping[str, str]
    dropped: tuple[str, ...] = ()
    """Hints that the library does not know: the cell does not show what they would have done."""
    as_default: bool = False
    """Whether the same hints are in force as by default: the set has not acted."""

    @property
    def acted(self) -> bool:
        """Whether what was asked for was in force, and is another thing than the default."""
        return not self.dropped and not self.as_default


@dataclass(frozen=True)
class Swept:
    """All sets on one pattern and phase, the default first."""

    pattern: str
    phase: str
    cells: tuple[Cell, ...]

    @property
    def recommended(self) -> Cell:
        """The best set that surely gains; the default where none does."""
        better = [one for one in self.cells[1:] if one.acted and one.sure and one.ratio >= LEAST_GAIN]
        return max(better, key=lambda one: one.ratio, default=self.cells[0])


def paired_ratios(plan: Sequence[int], rates: Sequence[float]) -> dict[int, float]:
    """Ratio of each set of one round to the defaults around it."""
    if len(plan) != len(rates) or plan[0] != 0 or plan[-1] != 0:
        raise ParameterError("plan", plan, "a round that begins and ends with the default")
    found = {}
    defaults = [place for place, number in enumerate(plan) if number == 0]
    for place, number in enumerate(plan):
        if number:
            before = max(one for one in defaults if one < place)
            after = min(one for one in defaults if one > place)
            found[number] = rates[place] / float(np.sqrt(rates[before] * rates[after]))
    return found


def interval(ratios: Sequence[float], level: float = LEVEL, seed: int = 1) -> tuple[float, float, float]:
    """Median ratio and its interval, resampled over rounds."""
    logs: npt.NDArray[np.float64] = np.log(np.asarray(ratios, dtype=np.float64))
    if not logs.size:
        raise ParameterError("ratios", ratios, "one or more rounds")
    rng = np.random.default_rng(seed)
    medians = np.median(rng.choice(logs, (RESAMPLES, logs.size)), axis=1)
    low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
    return float(np.exp(np.median(logs))), float(np.exp(low)), float(np.exp(high))


def analyse(
    pattern: str,
    phase: str,
    sets: Sequence[HintSet],
    *,
    plans: Sequence[Sequence[int]],
    rates: Sequence[Sequence[float]],
    told: Sequence[Mapping[str, Any]],
) -> Swept:
    """Cells of all sets; `told` has, for each set, the hints in force and those dropped."""
    by_round = [paired_ratios(plan, found) for plan, found in zip(plans, rates, strict=True)]
    # Bonferroni: the error of one interval is that of all, divided by their number
    strict = 1 - (1 - LEVEL) / max(1, len(sets) - 1)
    measured: list[list[float]] = [[] for _ in sets]
    for plan, found in zip(plans, rates, strict=True):
        for number, rate in zip(plan, found, strict=True):
            measured[number].append(rate)
    standard = told[0]["in_force"]
    cells = []
    for number, one in enumerate(sets):
        ratio, low, high = (1.0, 1.0, 1.0)
        sure = False
        if number:
            ratios = [found[number] for found in by_round]
            ratio, low, high = interval(ratios)
            sure = interval(ratios, strict)[1] > 1
        cells.append(
            Cell(
                one,
                float(np.median(measured[number])),
                ratio,
                low,
                high,
                sure,
                told[number]["in_force"],
                tuple(sorted(told[number]["dropped"])),
                number > 0 and told[number]["in_force"] == standard,
            )
        )
    return Swept(pattern, phase, tuple(cells))
