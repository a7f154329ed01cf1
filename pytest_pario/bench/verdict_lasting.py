"""Lasting falls of recorded series: found in hindsight, and when the replay found and how it dated them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_pario.baseline.statistics import Bools, Floats, Ints, date_step
from pytest_pario.bench.verdict_data import Nights
from pytest_pario.bench.verdict_union import Year

SPAN = 21
"""Nights on each side of a step that are looked at in hindsight."""
FALL = float(np.log(0.85))
"""Least fall that counts."""
CLEAR = 0.8
"""Part of the nights after the step that must lie below all but this part of those before it."""
NEAR = 14
"""Nights of the series within which the replay must have gone red."""


@dataclass(frozen=True)
class Step:
    """A lasting fall in hindsight."""

    night: int
    """Row of the first night at the lower level."""
    size: float
    """Logarithm of the fall."""


def find_steps(values: Floats, rows: Ints) -> list[Step]:
    """Falls whose 21 nights after lie clearly below the 21 before; of neighbours the largest."""
    found: list[Step] = []
    for at in range(SPAN, len(values) - SPAN):
        before, after = values[at - SPAN : at], values[at : at + SPAN]
        size = float(np.median(after) - np.median(before))
        below = (after < np.quantile(before, 1 - CLEAR)).mean()
        if size < FALL and below >= CLEAR:
            found.append(Step(int(rows[at]), size))
    best: list[Step] = []
    for step in sorted(found, key=lambda one: one.size):
        if all(abs(step.night - other.night) > SPAN for other in best):
            best.append(step)
    return sorted(best, key=lambda one: one.night)


def lasting_falls(nights: Nights, year: Year) -> list[str]:
    """One line per fall, and a count."""
    lines, found, near = [], 0, 0
    for column, label in enumerate(nights.labels):
        rows = np.nonzero(np.isfinite(nights.logs[:, column]))[0]
        values = nights.logs[rows, column]
        starts = {_exact(values, int(np.searchsorted(rows, step.night))): step for step in find_steps(values, rows)}
        for start, step in starts.items():
            text = f"{label:<48}{100 * np.expm1(step.size):>5.0f} %  {nights.dates[rows[start]]}"
            red = np.nonzero(year.begun[rows, column][start : start + NEAR])[0]
            if not len(red):
                lines.append(f"{text}  {_why_not(year.red[rows, column], start)}")
                continue
            dated = int(np.searchsorted(rows, year.level[int(rows[start + red[0]]), column]))
            found, near = found + 1, near + (abs(dated - start) <= 2)
            lines.append(f"{text}  red on night {red[0] + 1}, dated {nights.dates[rows[dated]]} ({dated - start:+d})")
    return [*lines, f"{found} of {len(lines)} found, {near} of them dated within 2 nights of the test"]


def _why_not(red: Bools, start: int) -> str:
    """What was said instead of a red that begins with the step."""
    later = np.nonzero(red[start + NEAR :])[0]
    return "was red already" if red[start] else f"red on night {NEAR + later[0] + 1}" if len(later) else "not found"


def _exact(values: Floats, at: int) -> int:
    """Place of the step by the least sum of absolute residuals, as somebody would draw it who sees both sides."""
    first = at - SPAN // 2
    return first + date_step(values[first : at + SPAN], float(np.median(values[at - SPAN : at])))
