"""By how much a series moved, since when, and which facts changed there."""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np

from pytest_pario.baseline.replay import Replay
from pytest_pario.baseline.rules import Rules
from pytest_pario.baseline.statistics import Bools, Floats, Ints, bootstrap_shift, date_step
from pytest_pario.baseline.store import Night
from pytest_pario.baseline.table import Table
from pytest_pario.baseline.together import Together
from pytest_pario.environment.fingerprint import Difference, differences

BEFORE = 3
"""Nights before the window in which the new level may have begun."""
AFTER = 14
"""Nights after the first verdict that still count for its date: a level that stands for long keeps its date."""


def measure(table: Table, seen: Together, column: int, rules: Rules) -> dict[str, Any]:
    """Effect and interval of the last level against the baseline, and when it began."""
    tests = seen.tests
    held = np.nonzero(tests.used[:, column])[0]
    values = tests.logs[held, column]
    begin, moved = _begin(seen, column, held, rules)
    before = values[_baseline(table, tests, column, held, begin)[-rules.baseline_nights :]]
    after = values[begin:]
    trace = tests.explained if tests.red_explained[held[-1], column] else tests.unexplained
    centre, level = float(trace.centre[held[-1], column]), float(np.median(after))
    result: dict[str, Any] = {"rate": math.exp(level), "nights": len(after)}
    if moved:
        night = table.nights[held[begin]]
        result |= {"since": _told(table, night), "begun": night.time, "changed": _changes(table, column, held, begin)}
    if len(before) < rules.accepted_least:
        return {**result, "baseline": math.exp(centre), "effect": math.expm1(level - centre)}
    seed = zlib.crc32(str(table.series[column]).encode())
    shift, low, high = bootstrap_shift(before, after, rules.confidence, rules.resamples, seed)
    result |= {"baseline": math.exp(level - shift), "effect": math.expm1(shift)}
    return {**result, "low": math.expm1(low), "high": math.expm1(high)}


def _told(table: Table, night: Night) -> str:
    """How a sentence names a night: by its date, and by its time too where the date has several."""
    alone = sum(one.date == night.date for one in table.nights) == 1
    return night.date if alone else night.time[:16].replace("T", " ")


def _baseline(table: Table, tests: Replay, column: int, held: Ints, begin: int) -> Ints:
    """Places of the nights before the level that may serve as baseline: none from before an acceptance."""
    places: Ints = np.nonzero(tests.kept[held[:begin], column])[0]
    accepted = [start for start in table.accepts.get(column, ()) if start <= held[begin]]
    return places[held[places] >= max(accepted)] if accepted else places


def _begin(seen: Together, column: int, held: Ints, rules: Rules) -> tuple[int, bool]:
    """Place of the first night of the last level, and whether that is a new one; else the begin of the window."""
    tests, row = seen.tests, held[-1]
    if tests.red[row, column]:
        gate = rules.explained if tests.red_explained[row, column] else rules.unexplained
        trace = tests.explained if tests.red_explained[row, column] else tests.unexplained
        return date_level(tests, column, seen.red[:, column], trace.centre, gate.nights), True
    if tests.improved[row, column]:
        flags, width = tests.improved[:, column], rules.unexplained.nights
        return date_level(tests, column, flags, tests.unexplained.centre, width), True
    for by_group, name in ((seen.red_by_group, "red"), (seen.improved_by_group, "improved")):
        if by_group[row, column]:
            return min(int(np.searchsorted(held, _group_row(seen, column, name, rules))), len(held) - 1), True
    return max(len(held) - rules.unexplained.nights, 0), False


def _group_row(seen: Together, column: int, name: str, rules: Rules) -> int:
    """Night on which the last level of a test's group began."""
    whole, place = seen.groups, int(seen.place[column])
    rows = np.nonzero(whole.used[:, place])[0]
    explained = name == "red" and bool(whole.red_explained[rows[-1], place])
    gate, trace = (
        (rules.group_explained, whole.explained) if explained else (rules.group_unexplained, whole.unexplained)
    )
    flags: Bools = getattr(whole, name)[:, place]
    return int(rows[date_level(whole, place, flags, trace.centre, gate.nights)])


def date_level(replay: Replay, column: int, flags: Bools, centre: Floats, width: int) -> int:
    """Place, among the nights that count, at which the level began that `flags` have stood for until the last one."""
    held = np.nonzero(replay.used[:, column])[0]
    values, stood = replay.logs[held, column], flags[held]
    onset = len(held) - 1
    while onset > 0 and stood[onset] and stood[onset - 1]:
        onset -= 1
    first = max(onset - width + 1 - BEFORE, 0)
    known = centre[held[onset:], column]
    known = known[np.isfinite(known)]
    reference = float(known[0]) if len(known) else float(np.median(values))
    return first + date_step(values[first : onset + 1 + AFTER], reference)


def _changes(table: Table, column: int, held: Ints, begin: int) -> tuple[Difference, ...]:
    """Facts that changed with the first night of the new level, or with the night before or after it."""
    series = table.series[column]
    around = range(max(begin - 2, 0), min(begin + 2, len(held)))
    if len(around) < 2:
        return ()
    first, last = (table.samples[held[at]][series].facts for at in (around[0], around[-1]))
    return tuple(differences(first, last))
