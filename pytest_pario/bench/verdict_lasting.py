"""Lasting falls of recorded series: found in hindsight, and when the replay found and how it dated them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_pario.baseline.replay import Replay, replay, replay_groups
from pytest_pario.baseline.rules import DEFAULT
from pytest_pario.baseline.statistics import Bools, Floats, Ints, date_step
from pytest_pario.bench.verdict_data import Nights

SPAN = 21
"""Nights on each side of a step that are looked at in hindsight."""
FALL = float(np.log(0.85))
"""Least fall that counts."""
CLEAR = 0.8
"""Part of the nights after the step that must lie below all but this part of those before it."""
NEAR = 14
"""Nights of the series within which the replay must have gone red."""
ACCEPTED = 14
"""Nights after which a standing red is taken as accepted, so that a year can be replayed without its operator."""


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


def lasting_falls(nights: Nights) -> list[str]:
    """One line per fall, and a count."""
    seen = replay(nights.logs, nights.groups, accept_after=ACCEPTED)
    _, groups = replay_groups(nights.logs, nights.groups, accept_after=ACCEPTED)
    lines, found, near = [], 0, 0
    for column, label in enumerate(nights.labels):
        rows = np.nonzero(np.isfinite(nights.logs[:, column]))[0]
        values = nights.logs[rows, column]
        starts = {_exact(values, int(np.searchsorted(rows, step.night))): step for step in find_steps(values, rows)}
        for start, step in starts.items():
            text = f"{label:<48}{100 * np.expm1(step.size):>5.0f} %  {nights.dates[rows[start]]}"
            place, by = _first_red(seen.red[rows, column], groups.red[rows, nights.groups[column]], start)
            if place is None:
                lines.append(f"{text}  not found")
                continue
            dated = int(np.searchsorted(rows, _date(seen, column, int(rows[place]))))
            found, near = found + 1, near + (abs(dated - start) <= 2)
            told = f"red {by} on night {place - start + 1}, dated {nights.dates[rows[dated]]} ({dated - start:+d})"
            lines.append(f"{text}  {told}")
    return [*lines, f"{found} of {len(lines)} found, {near} of them dated within 2 nights of the test"]


def _exact(values: Floats, at: int) -> int:
    """Place of the step by the least sum of absolute residuals, as somebody would draw it who sees both sides."""
    first = at - SPAN // 2
    return first + date_step(values[first : at + SPAN], float(np.median(values[at - SPAN : at])))


def _first_red(own: Bools, group: Bools, start: int) -> tuple[int | None, str]:
    """The first red that begins with the step or after it, by the test's own gate or by its group's."""
    options = []
    for red, by in ((own, "itself"), (group, "with its group")):
        before = np.concatenate([[False], red[:-1]])
        begun = np.nonzero((red & ~before)[start : start + NEAR])[0]
        if len(begun):
            options.append((start + int(begun[0]), by))
    return min(options) if options else (None, "")


def _date(seen: Replay, column: int, night: int) -> int:
    """When the judge says that the level began, asked on the night that it went red."""
    rows = np.nonzero(np.isfinite(seen.logs[: night + 1, column]))[0]
    values = seen.logs[rows, column]
    first = max(len(rows) - DEFAULT.unexplained.nights - 3, 0)
    centre = seen.unexplained.centre[rows, column]
    known = centre[np.isfinite(centre)]
    return int(rows[first + date_step(values[first:], float(known[-1]) if len(known) else float(np.median(values)))])
