"""By how much a series moved, since when, and which facts changed there."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from pytest_pario.baseline.replay import Replay
from pytest_pario.baseline.rules import Rules
from pytest_pario.baseline.statistics import Bools, Floats, Ints, bootstrap_shift, date_step
from pytest_pario.baseline.store import Night
from pytest_pario.baseline.table import Table, setting_differences
from pytest_pario.baseline.together import Together
from pytest_pario.environment.fingerprint import Difference

BEFORE = 3
"""Nights before the window in which the new level may have begun."""
AFTER = 14
"""Nights after the first verdict that still count for its date: a level that stands for long keeps its date."""


def measure(table: Table, seen: Together, column: int, rules: Rules) -> dict[str, Any]:
    """Effect and interval of the last level against the baseline, and when it began."""
    tests = seen.tests
    held = np.nonzero(tests.used[:, column])[0]
    begin, moved = _begin(seen, column, held, rules)
    before, after = both_levels(seen, column, rules, table.accepts.get(column, ()))
    trace = tests.explained if tests.red_explained[held[-1], column] else tests.unexplained
    centre, level = float(trace.centre[held[-1], column]), float(np.median(after))
    result: dict[str, Any] = {"rate": math.exp(level), "nights": len(after)}
    if moved:
        row = _first_night(tests, column, held, begin)
        first = table.nights[row]
        result |= {"since": _told(table, first), "begun": first.time, "row": row}
        result["changed"] = _changes(table, column, row)
    if len(before) < rules.accepted_least:
        return {**result, "baseline": math.exp(centre), "effect": math.expm1(level - centre)}
    seed = zlib.crc32(str(table.series[column]).encode())
    shift, low, high = shift_between(before, after, widening(seen, moved, rules), rules, seed)
    result |= {"baseline": math.exp(level - shift), "effect": math.expm1(shift)}
    return {**result, "low": math.expm1(low), "high": math.expm1(high)}


def _told(table: Table, night: Night) -> str:
    """How a sentence names a night: by its date, and by its time too where the date has several."""
    alone = sum(one.date == night.date for one in table.nights) == 1
    return night.date if alone else night.time[:16].replace("T", " ")


def shift_between(before: Floats, after: Floats, width: float, rules: Rules, seed: int) -> tuple[float, float, float]:
    """Shift of the location from some nights to others, and its interval so many times as wide as by resampling."""
    shift, low, high = bootstrap_shift(before, after, rules.confidence, rules.resamples, seed)
    return shift, shift + width * (low - shift), shift + width * (high - shift)


def widening(seen: Together, moved: bool, rules: Rules) -> float:
    """What resampling does not know: that nights resemble the next ones, and that nights were chosen by dating."""
    return (1 + rules.serial_widening * seen.serial) * (rules.dated_widening if moved else 1.0)


def both_levels(seen: Together, column: int, rules: Rules, accepted: Sequence[int] = ()) -> tuple[Floats, Floats]:
    """The nights that an effect compares: of the baseline, none of them before an acceptance, and of the last level."""
    held = np.nonzero(seen.tests.used[:, column])[0]
    begin, _ = _begin(seen, column, held, rules)
    kept = held[:begin][seen.tests.kept[held[:begin], column]]
    kept = kept[kept >= max((start for start in accepted if start <= held[begin]), default=0)]
    return seen.tests.logs[kept[-rules.baseline_nights :], column], seen.tests.logs[held[begin:], column]


def begin_level(seen: Together, column: int, rules: Rules) -> int:
    """Night on which the last level of a test began, as its verdict dates it."""
    held = np.nonzero(seen.tests.used[:, column])[0]
    return _first_night(seen.tests, column, held, _begin(seen, column, held, rules)[0])


def _first_night(tests: Replay, column: int, held: Ints, begin: int) -> int:
    """Row of the first night of a level: nights without a control do not count, but the level may begin in them."""
    passed = np.arange(held[begin - 1] + 1 if begin else 0, held[begin])
    passed = passed[np.isfinite(tests.logs[passed, column])]
    rows = np.concatenate([passed, held[begin:][:AFTER]])
    known = tests.unexplained.centre[held[begin:], column]
    known = known[np.isfinite(known)]
    if not len(passed) or not len(known):
        return int(held[begin])
    return int(rows[min(date_step(tests.logs[rows, column], float(known[0])), len(passed))])


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


def _changes(table: Table, column: int, first: int) -> tuple[Difference, ...]:
    """Facts that changed with the first night of the new level, or with the night before or after it."""
    series = table.series[column]
    rows = [row for row, night in enumerate(table.samples) if series in night]
    at = rows.index(first)
    around = rows[max(at - 2, 0) : at + 2]
    if len(around) < 2:
        return ()
    before, after = (table.samples[row][series].facts for row in (around[0], around[-1]))
    return tuple(setting_differences(before, after))
