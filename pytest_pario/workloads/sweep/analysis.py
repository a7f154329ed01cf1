"""From the rates of a sweep to ratios with intervals and a recommendation. Pure numpy.

First all sets are looked at: in each round every set is measured between two measurements of the default, and its ratio
in that round is its rate over the geometric mean of the two. Of the best few that acted and seem to gain, fresh rounds
then decide (`decision`): choosing the best of many by their noise costs nothing, because that noise is not used again.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_pario.environment.stripe import echoed_hints
from pytest_pario.errors import ParameterError
from pytest_pario.workloads.hints import classify_hints
from pytest_pario.workloads.sweep.decision import CANDIDATES, gain_probability, least_rounds, pair_ratios, reject
from pytest_pario.workloads.sweep.matrix import HintSet

LEVEL = 0.90
LEAST_GAIN = 1.03
"""A gain below this is not worth another set of hints."""


@dataclass(frozen=True)
class Estimate:
    """The ratio of a set to the default of the same rounds; more is better."""

    ratio: float
    low: float
    high: float
    rounds: int


@dataclass(frozen=True)
class Trial:
    """What fresh rounds say of a candidate."""

    estimate: Estimate
    probability: float
    """Of so high signed ranks where the set gains nothing, before the correction."""
    sure: bool
    """Whether the gain is sure after it."""


@dataclass(frozen=True)
class Cell:
    """One hint set on one pattern and phase."""

    hints: HintSet
    rate: float
    """Median MiB/s."""
    screened: Estimate
    in_force: Mapping[str, str]
    dropped: tuple[str, ...] = ()
    """Hints that the library does not know: the cell does not show what they would have done."""
    changed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Hints that were in force with another value than that asked for, and that value."""
    echoed: tuple[str, ...] = ()
    """Hints that the library repeats, and that no driver in force obeys."""
    same_as: str | None = None
    """Name of an earlier set with the same hints in force: both are one, and the earlier one stands for it."""
    tested: Trial | None = None

    @property
    def acted(self) -> bool:
        """Whether what was asked for was in force, and is another thing than the default and all earlier sets."""
        return not (self.dropped or self.changed or self.echoed) and self.same_as is None

    @property
    def estimate(self) -> Estimate:
        """From the fresh rounds where there were some: those of the screening chose the set, and flatter it."""
        return self.tested.estimate if self.tested else self.screened


@dataclass(frozen=True)
class Swept:
    """All sets on one pattern and phase, the default first."""

    pattern: str
    phase: str
    cells: tuple[Cell, ...]
    too_few: int | None = None
    """Rounds that the test would have needed at least; None where it had them."""

    @property
    def candidates(self) -> tuple[int, ...]:
        """Numbers of the best sets that acted and seem to gain: those worth fresh rounds."""
        gaining = [
            number for number, one in enumerate(self.cells) if number and one.acted and one.screened.ratio >= LEAST_GAIN
        ]
        return tuple(sorted(gaining, key=lambda number: -self.cells[number].screened.ratio)[:CANDIDATES])

    @property
    def recommended(self) -> Cell:
        """The best set that surely gains; the default where none does."""
        better = [
            one for one in self.cells if one.tested and one.tested.sure and one.tested.estimate.ratio >= LEAST_GAIN
        ]
        return max(better, key=lambda one: one.estimate.ratio, default=self.cells[0])


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


def coverage(rounds: int, cut: int = 0) -> float:
    """How often the range of all ratios but the `cut` lowest and highest holds their true median, at least."""
    return 1 - 2 * sum(math.comb(rounds, k) for k in range(cut + 1)) / float(2**rounds)


def interval(ratios: Sequence[float]) -> Estimate:
    """Median ratio and the narrowest range of rounds that holds the true one at the level, at most all."""
    logs: npt.NDArray[np.float64] = np.sort(np.log(np.asarray(ratios, dtype=np.float64)))
    count = int(logs.size)
    if not count:
        raise ParameterError("ratios", ratios, "one or more rounds")
    cut = max((k for k in range((count + 1) // 2) if coverage(count, k) >= LEVEL), default=0)
    low, middle, high = (float(np.exp(one)) for one in (logs[cut], np.median(logs), logs[count - 1 - cut]))
    return Estimate(middle, low, high, count)


def screen(
    pattern: str,
    phase: str,
    sets: Sequence[HintSet],
    *,
    plans: Sequence[Sequence[int]],
    rates: Sequence[Sequence[float]],
    told: Sequence[Mapping[str, str]],
) -> Swept:
    """Cells of all sets; `told` has the hints in force of each."""
    by_round = [paired_ratios(plan, found) for plan, found in zip(plans, rates, strict=True)]
    measured: list[list[float]] = [[] for _ in sets]
    for plan, found in zip(plans, rates, strict=True):
        for number, rate in zip(plan, found, strict=True):
            measured[number].append(rate)
    cells: list[Cell] = []
    for number, one in enumerate(sets):
        ratios = [found[number] for found in by_round] if number else [1.0] * len(plans)
        cells.append(_cell(one, float(np.median(measured[number])), interval(ratios), told[number], cells))
    return Swept(pattern, phase, tuple(cells))


def _cell(
    hints: HintSet, rate: float, screened: Estimate, in_force: Mapping[str, str], earlier: Sequence[Cell]
) -> Cell:
    """One cell, with what became of the hints that it asked for."""
    outcomes = classify_hints(hints.hints, in_force)
    return Cell(
        hints,
        rate,
        screened,
        in_force,
        tuple(sorted(one.key for one in outcomes if one.state == "dropped")),
        {one.key: str(one.in_force) for one in outcomes if one.state == "changed"},
        echoed_hints(hints.hints, in_force),
        # a set that did not get what it asked for stands for nothing
        next((one.hints.name for one in earlier if one.in_force == in_force and not one.changed), None),
    )


def decide(
    swept: Swept,
    candidates: Sequence[int],
    *,
    plans: Sequence[Sequence[int]],
    rates: Sequence[Sequence[float]],
) -> Swept:
    """The same with what fresh rounds say of the candidates."""
    if not candidates:
        return swept
    needed = least_rounds(len(candidates))
    by_round = [pair_ratios(plan, found) for plan, found in zip(plans, rates, strict=True)]
    ratios = [[found[number] for found in by_round] for number in candidates]
    probabilities = [gain_probability(one) for one in ratios]
    cells = list(swept.cells)
    for number, found, chance, sure in zip(candidates, ratios, probabilities, reject(probabilities), strict=True):
        cells[number] = dataclasses.replace(cells[number], tested=Trial(interval(found), chance, sure))
    return dataclasses.replace(swept, cells=tuple(cells), too_few=needed if len(plans) < needed else None)


def plain_swept(swept: Swept) -> dict[str, Any]:
    """All cells as plain data, with the hints in force of each (GEN-12)."""
    return {
        "pattern": swept.pattern,
        "phase": swept.phase,
        "recommended": dict(swept.recommended.hints.hints),
        "sets": [
            {**dataclasses.asdict(cell), "hints": dict(cell.hints.hints), "acted": cell.acted} for cell in swept.cells
        ],
    }
