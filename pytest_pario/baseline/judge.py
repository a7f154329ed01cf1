"""The judge: what the nights of a machine say of the last one. Pure; sentences are made in report/verdicts.py."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_pario.baseline.replay import Replay, replay, replay_groups
from pytest_pario.baseline.rules import DEFAULT, Rules
from pytest_pario.baseline.series import Sample, Series
from pytest_pario.baseline.statistics import Bools, Floats, Ints, bootstrap_shift, control_of, date_step
from pytest_pario.baseline.store import Acceptance, Night, Shelf
from pytest_pario.environment.facts import FACTS
from pytest_pario.environment.fingerprint import Difference, differences
from pytest_pario.model import State

STATES_OF_RUN = frozenset(fact.name for fact in FACTS if fact.role == "state")
NO_PEERS = "too few tests of its group ran tonight to tell its own fall from the group's"
MDE_PART = 0.8
"""The least detectable effect is the fall that so large a part of the past windows would have shown as red."""


@dataclass(frozen=True)
class Finding:
    """What is said of one series tonight."""

    series: Series
    fullname: str
    """Of the test."""
    state: State
    rate: float
    """MiB/s, median of the nights since the level changed, or of the window; NaN where there is none."""
    baseline: float = math.nan
    """MiB/s, median of the baseline."""
    effect: float = math.nan
    """Rate over baseline, minus 1."""
    low: float = math.nan
    high: float = math.nan
    """Interval of the effect, bootstrapped over nights."""
    since: str = ""
    """Date of the first night at the new level."""
    nights: int = 0
    """How many valid nights have been at it; for other states how many the window has."""
    changed: tuple[Difference, ...] = ()
    """Facts that changed about then."""
    missing: int = 0
    """Nights that are still to be learnt."""
    detectable: float = math.nan
    """Least fall that this test can find, as a part."""
    by_group: bool = False
    """Red because the whole group fell."""
    damage: str = ""
    reason: str = ""
    """Of an acceptance, or why nothing can be said."""


@dataclass(frozen=True)
class Event:
    """Tests of one group that alarm together are one event."""

    group: str
    findings: tuple[Finding, ...]
    """Worst first."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """Everything that is said of the last night."""

    night: Night | None
    findings: tuple[Finding, ...]
    events: tuple[Event, ...]
    refused: tuple[str, ...]

    @property
    def judged(self) -> int:
        """How many series could be judged at all."""
        return sum(one.state not in ("learning", "blind") for one in self.findings)

    def of(self, fullname: str) -> Finding | None:
        """The worst that is said of a test."""
        mine = [one for one in self.findings if one.fullname == fullname]
        return min(mine, key=lambda one: SEVERITY.index(one.state)) if mine else None


SEVERITY: tuple[State, ...] = ("damaged", "regressed", "yellow", "improved", "accepted", "held", "blind", "learning")


@dataclass(frozen=True, eq=False)
class Table:
    """A shelf as arrays: rows are nights, columns are series."""

    nights: tuple[Night, ...]
    series: tuple[Series, ...]
    samples: tuple[Mapping[Series, Sample], ...]
    """By night."""
    logs: Floats
    changed: Bools
    groups: Ints
    group_names: tuple[str, ...]
    accepts: Mapping[int, Sequence[int]]
    reasons: Mapping[int, str]


def tabulate(shelf: Shelf) -> Table:
    """Arrange all samples; a night on which a series' settings differ from its night before is marked."""
    samples = tuple({sample.series: sample for sample in night.samples} for night in shelf.nights)
    series = tuple(sorted({one for night in samples for one in night}))
    place = {one: column for column, one in enumerate(series)}
    logs = np.full((len(samples), len(series)), np.nan)
    changed = np.zeros(logs.shape, bool)
    last: dict[Series, dict[str, Any]] = {}
    for row, night in enumerate(samples):
        for one, sample in night.items():
            logs[row, place[one]] = sample.log_rate
            settings = {name: value for name, value in sample.facts.items() if name not in STATES_OF_RUN}
            before = last.get(one)
            if before is not None and before != settings:
                changed[row, place[one]] = bool(differences(before, settings))
            last[one] = settings
    names = tuple(sorted({one.group for one in series}))
    groups = np.array([names.index(one.group) for one in series], np.int64)
    accepts, reasons = _accepted(shelf, series)
    return Table(shelf.nights, series, samples, logs, changed, groups, names, accepts, reasons)


def _accepted(shelf: Shelf, series: tuple[Series, ...]) -> tuple[dict[int, list[int]], dict[int, str]]:
    rows: dict[int, list[int]] = {}
    reasons: dict[int, str] = {}
    by_name: dict[str, list[Acceptance]] = {}
    for acceptance in shelf.acceptances:
        by_name.setdefault(acceptance.series, []).append(acceptance)
    for column, one in enumerate(series):
        for acceptance in by_name.get(str(one), ()):
            rows.setdefault(column, []).append(sum(night.time < acceptance.since for night in shelf.nights))
            reasons[column] = acceptance.reason
    return rows, reasons


def judge(shelf: Shelf, rules: Rules = DEFAULT, alone: bool = False) -> Judgement:
    """Judge the last night of a shelf against the nights before it; `alone` while its peers have not run yet."""
    if not shelf.nights:
        return Judgement(None, (), (), shelf.refused)
    table = tabulate(shelf)
    control = control_of(table.logs, table.groups, rules.control_nights, rules.control_least, rules.control_peers)
    if alone:
        control[-1] = np.where(np.isfinite(control[-1]), control[-1], 0.0)
    seen = replay(table.logs, table.groups, table.changed, table.accepts, rules, control=control)
    red_groups = _red_groups(table, rules)
    tonight = table.samples[-1]
    findings = tuple(
        _find(table, seen, column, tonight[one], rules, group_red=bool(red_groups[table.groups[column]]))
        for column, one in enumerate(table.series)
        if one in tonight
    )
    return Judgement(shelf.nights[-1], findings, _events(findings), shelf.refused)


def _red_groups(table: Table, rules: Rules) -> Bools:
    """Groups that are red as a whole tonight, unless most of their members were accepted since."""
    if not len(table.series):
        return np.zeros(0, bool)
    names, seen = replay_groups(table.logs, table.groups, table.changed, rules)
    red: Bools = seen.red[-1].copy()
    for number, name in enumerate(names):
        members = np.nonzero(table.groups == name)[0]
        accepted = sum(int(column) in table.accepts for column in members)
        red[number] &= accepted * 2 < len(members)
    return red


def _find(table: Table, seen: Replay, column: int, sample: Sample, rules: Rules, *, group_red: bool) -> Finding:
    series, row = table.series[column], len(table.nights) - 1
    rate = math.exp(sample.log_rate) if math.isfinite(sample.log_rate) else math.nan
    if sample.damaged:
        return Finding(series, sample.fullname, "damaged", rate, damage=sample.damaged)
    trace = seen.unexplained
    if seen.accepted[row, column]:
        return Finding(series, sample.fullname, "accepted", rate, reason=table.reasons.get(column, ""))
    if not math.isfinite(trace.centre[row, column]):
        missing = int(seen.missing[row, column])
        return Finding(series, sample.fullname, "learning", rate, missing=missing, reason="" if missing else NO_PEERS)
    past = trace.need[np.isfinite(trace.need[:, column]) & ~seen.red[:, column], column]
    detectable = 1 - math.exp(-max(float(np.quantile(past, MDE_PART)), 0.0)) if len(past) else math.nan
    measured = _measure(table, seen, column, rules)
    fell = measured["effect"] < -rules.group_unexplained.own_margin
    by_group = group_red and bool(fell) and not seen.red[row, column]
    state: State = "held"
    if seen.red[row, column] or by_group:
        state = "regressed"
    elif seen.yellow[row, column]:
        state = "yellow"
    elif seen.improved[row, column]:
        state = "improved"
    elif detectable > rules.blind_effect:
        state = "blind"
    return Finding(series, sample.fullname, state, detectable=detectable, by_group=by_group, **measured)


def _measure(table: Table, seen: Replay, column: int, rules: Rules) -> dict[str, Any]:
    """Effect and interval of the last level against the baseline, and when it began."""
    held = np.nonzero(np.isfinite(table.logs[:, column]))[0]
    values = table.logs[held, column]
    red = seen.red[held, column]
    width = (rules.explained if seen.red_explained[held[-1], column] else rules.unexplained).nights
    onset = len(held) - 1
    while onset > 0 and red[onset] and red[onset - 1]:
        onset -= 1
    begin = max(onset - width + 1, 0)
    trace = seen.explained if seen.red_explained[held[-1], column] else seen.unexplained
    centre = float(trace.centre[held[-1], column])
    if red[-1]:
        first = max(begin - 3, 0)
        begin = first + date_step(values[first:], centre)
    before_all = np.nonzero(seen.kept[held[:begin], column])[0]
    accepted = [start for start in table.accepts.get(column, ()) if start <= held[begin]] if len(held) > begin else []
    if accepted:
        before_all = before_all[held[before_all] >= accepted[-1]]
    before = values[before_all[-rules.baseline_nights :]]
    after = values[begin:]
    result: dict[str, Any] = {"rate": math.exp(float(np.median(after))), "nights": len(after)}
    if len(before) < rules.accepted_least:
        return {**result, "baseline": math.exp(centre), "effect": math.exp(float(np.median(after)) - centre) - 1}
    seed = zlib.crc32(str(table.series[column]).encode())
    shift, low, high = bootstrap_shift(before, after, rules.confidence, rules.resamples, seed)
    result |= {"baseline": math.exp(float(np.median(after)) - shift), "effect": math.expm1(shift)}
    result |= {"low": math.expm1(low), "high": math.expm1(high)}
    if red[-1] or seen.improved[held[-1], column]:
        result |= {"since": table.nights[held[begin]].date, "changed": _changes(table, column, held, begin)}
    return result


def _changes(table: Table, column: int, held: Ints, begin: int) -> tuple[Difference, ...]:
    """Facts that changed with the first night of the new level, or with the night before or after it."""
    series = table.series[column]
    around = range(max(begin - 2, 0), min(begin + 2, len(held)))
    if len(around) < 2:
        return ()
    first, last = (table.samples[held[at]][series].facts for at in (around[0], around[-1]))
    return tuple(differences(first, last))


def _events(findings: Sequence[Finding]) -> tuple[Event, ...]:
    red = [one for one in findings if one.state in ("regressed", "damaged")]
    groups: dict[str, list[Finding]] = {}
    for one in red:
        groups.setdefault(one.series.group, []).append(one)
    events = [
        Event(group, tuple(sorted(some, key=lambda one: (SEVERITY.index(one.state), one.effect))))
        for group, some in groups.items()
    ]
    return tuple(sorted(events, key=lambda event: (SEVERITY.index(event.findings[0].state), event.findings[0].effect)))
