"""The judge: what the nights of a machine say of the last one. Pure; sentences are made in report/verdicts.py."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_pario.baseline.effect import measure
from pytest_pario.baseline.rules import Rules
from pytest_pario.baseline.series import Sample, Series
from pytest_pario.baseline.store import Failure, Night, Shelf
from pytest_pario.baseline.table import Table, tabulate
from pytest_pario.baseline.together import Together, replay_together
from pytest_pario.environment.fingerprint import Difference
from pytest_pario.model import State

NOT_MEASURED = "not measured tonight"
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
    """Date of the first night at the new level, with the time where the date has several."""
    begun: str = ""
    """ISO time of that night."""
    row: int = -1
    """Its place among the nights; -1 where there is none."""
    nights: int = 0
    """How many valid nights have been at it; for other states how many the window has."""
    changed: tuple[Difference, ...] = ()
    """Facts that changed about then."""
    missing: int = 0
    """Nights that are still to be learnt."""
    detectable: float = math.nan
    """Least fall that this test can find, as a part."""
    by_group: bool = False
    """Red because the whole group fell, or improved because it rose."""
    again: float = math.nan
    """MiB/s of a measurement repeated at the end of the job, median; NaN where there was none."""
    damage: str = ""
    reason: str = ""
    """Of an acceptance, or why nothing can be said; of a red that stands because nothing new is known."""


@dataclass(frozen=True)
class Event:
    """Tests of one group that alarm together, for the same thing and since about the same night, are one event."""

    group: str
    findings: tuple[Finding, ...]
    """Worst first."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """Everything that is said of the last night."""

    night: Night | None
    findings: tuple[Finding, ...]
    """Of every series of the last night, of tests with wrong bytes, and of reds that stand without a new value."""
    events: tuple[Event, ...]
    refused: tuple[str, ...]
    failures: tuple[Failure, ...] = ()
    """Tests that failed in other ways than by wrong bytes or a verdict."""
    absent: tuple[Series, ...] = ()
    """Series of the nights before that the last one lacks."""
    unread: str = ""
    """Why the newest night could not be read; what is judged is an older one."""
    site_rules: tuple[str, ...] = ()
    """What the site's rules say otherwise."""
    apart: tuple[str, ...] = ()
    """Tests of tonight that measured one series, and are kept apart by their names."""
    small: tuple[tuple[str, int], ...] = ()
    """Groups that have too few tests tonight to control each other, and how many."""

    @property
    def judged(self) -> int:
        """How many series could be judged at all."""
        return sum(one.state not in ("learning", "blind") for one in self.findings)

    def of(self, fullname: str) -> Finding | None:
        """The worst that is said of a test."""
        mine = [one for one in self.findings if one.fullname == fullname]
        return min(mine, key=lambda one: SEVERITY.index(one.state)) if mine else None


SEVERITY: tuple[State, ...] = ("damaged", "regressed", "yellow", "improved", "accepted", "held", "blind", "learning")


def judge(shelf: Shelf, rules: Rules | None = None, alone: bool = False) -> Judgement:
    """Judge the last night of a shelf against the nights before it; `alone` while its peers have not run yet."""
    rules = rules or shelf.rules
    told: dict[str, Any] = {"refused": shelf.refused, "unread": shelf.unread, "site_rules": shelf.site_rules}
    if not shelf.nights:
        return Judgement(None, (), (), **told)
    if alone:
        shelf = dataclasses.replace(shelf, nights=(*shelf.nights[:-1], _recognised(shelf.nights)))
    table, night = tabulate(shelf), shelf.nights[-1]
    damaged = {one.fullname: one.sentence for one in night.failures if one.kind == "damaged"}
    findings = _damaged(table, damaged)
    if table.series:
        seen = replay_together(table, rules, alone=alone)
        found = {one.series for one in findings}
        findings += [
            _find(table, seen, column, sample, rules)
            for column, one in enumerate(table.series)
            if (sample := table.samples[-1].get(one)) is not None and one not in found
        ]
        findings += [] if alone else _standing(table, seen, {one.series for one in findings}, rules)
    told["failures"] = tuple(one for one in night.failures if one.kind != "damaged")
    told |= {"apart": table.apart, "small": () if alone else _small(table, rules)}
    told["absent"] = () if alone else _absent(table, findings, rules)
    return Judgement(night, tuple(findings), _events(findings, rules.unexplained.nights), **told)


def _recognised(nights: Sequence[Night]) -> Night:
    """The last night with each series as its test had it before: a record alone lacks the words that a test adds."""
    known: dict[str, dict[Series, None]] = {}
    for night in nights[:-1]:
        for sample in night.samples:
            known.setdefault(sample.fullname, {})[sample.series] = None
    found = []
    for sample in nights[-1].samples:
        words, mine = set(sample.series.kind.split(", ")), known.get(sample.fullname, {})
        like = [
            one
            for one in mine
            if dataclasses.replace(one, kind=sample.series.kind) == sample.series and words <= set(one.kind.split(", "))
        ]
        alike = sample.series not in mine and len(like) == 1
        found.append(dataclasses.replace(sample, series=like[0]) if alike else sample)
    return dataclasses.replace(nights[-1], samples=tuple(found))


def _small(table: Table, rules: Rules) -> tuple[tuple[str, int], ...]:
    """Groups of tonight in which a test lacks peers: it is judged by itself, and so is every slow night."""
    count: dict[str, int] = {}
    for one in table.samples[-1]:
        count[one.group] = count.get(one.group, 0) + 1
    return tuple(sorted((group, tests) for group, tests in count.items() if tests <= rules.control_peers))


def _damaged(table: Table, damaged: dict[str, str]) -> list[Finding]:
    """Tests that failed for wrong bytes: of the series that they last had, if they ever had one."""
    known: dict[str, Series] = {}
    for night in table.samples:
        known |= {sample.fullname: one for one, sample in night.items()}
    return [
        Finding(known.get(name) or Series(name, "", 0, 0, "", "", ""), name, "damaged", math.nan, damage=sentence)
        for name, sentence in damaged.items()
    ]


def _find(table: Table, seen: Together, column: int, sample: Sample, rules: Rules) -> Finding:
    series, row = table.series[column], len(table.nights) - 1
    rate = math.exp(sample.log_rate) if math.isfinite(sample.log_rate) else math.nan
    if sample.damaged:
        return Finding(series, sample.fullname, "damaged", rate, damage=sample.damaged)
    if seen.tests.accepted[row, column]:
        return Finding(series, sample.fullname, "accepted", rate, reason=table.reasons.get(column, ""))
    known = math.isfinite(seen.tests.unexplained.centre[row, column])
    if _stands(seen, column):
        found = _red(table, seen, column, sample.fullname, rules)
        return found if known else dataclasses.replace(found, reason=NO_PEERS)
    if not known:
        missing = int(seen.tests.missing[row, column])
        return Finding(series, sample.fullname, "learning", rate, missing=missing, reason="" if missing else NO_PEERS)
    detectable = _detectable(seen, column, rules)
    if seen.tests.yellow[row, column]:
        return Finding(
            series, sample.fullname, "yellow", detectable=detectable, **_tonight(table, seen, column, sample)
        )
    state: State = "held"
    if seen.improved[row, column]:
        state = "improved"
    elif detectable > rules.blind_effect:
        state = "blind"
    measured, by_group = measure(table, seen, column, rules), bool(seen.improved_by_group[row, column])
    return Finding(series, sample.fullname, state, detectable=detectable, by_group=by_group, **measured)


def _red(table: Table, seen: Together, column: int, fullname: str, rules: Rules) -> Finding:
    """A red as it was on the last night that counted for the series."""
    last = np.nonzero(seen.tests.used[:, column])[0][-1]
    by_group, detectable = bool(seen.red_by_group[last, column]), _detectable(seen, column, rules)
    measured = measure(table, seen, column, rules)
    return Finding(table.series[column], fullname, "regressed", detectable=detectable, by_group=by_group, **measured)


def _stands(seen: Together, column: int) -> bool:
    """Whether a series was red on the last night that counted for it."""
    used = np.nonzero(seen.tests.used[:, column])[0]
    return bool(len(used) and seen.red[used[-1], column])


def _standing(table: Table, seen: Together, known: set[Series], rules: Rules) -> list[Finding]:
    """Reds that nobody fixed or accepted, of series that the last night lacks."""
    found = []
    for column, one in enumerate(table.series):
        if one not in known and _stands(seen, column):
            fullname = next(night[one].fullname for night in reversed(table.samples) if one in night)
            found.append(dataclasses.replace(_red(table, seen, column, fullname, rules), reason=NOT_MEASURED))
    return found


def _absent(table: Table, findings: Sequence[Finding], rules: Rules) -> tuple[Series, ...]:
    """Series of the nights that make a baseline that are not told of otherwise."""
    told = {one.series for one in findings}
    failed = {one.fullname for one in table.nights[-1].failures}
    recent = {
        one
        for night in table.samples[-1 - rules.baseline_nights : -1]
        for one, sample in night.items()
        if sample.fullname not in failed
    }
    return tuple(sorted(recent - told - set(table.samples[-1])))


def _detectable(seen: Together, column: int, rules: Rules) -> float:
    """Least fall that most past windows would have shown; windows with a better level than their baseline say more."""
    need = seen.tests.unexplained.need[:, column]
    past = need[np.isfinite(need) & ~seen.red[:, column] & ~seen.rising(column, rules)]
    return 1 - math.exp(-max(float(np.quantile(past, MDE_PART)), 0.0)) if len(past) else math.nan


def _tonight(table: Table, seen: Together, column: int, sample: Sample) -> dict[str, Any]:
    """A yellow night as such: its own rate, not that of the window."""
    centre = float(seen.tests.unexplained.centre[-1, column])
    used = np.nonzero(seen.tests.used[:, column])[0]
    yellow = seen.tests.yellow[used, column][::-1]
    lasted = len(yellow) if yellow.all() else int(np.argmin(yellow))
    rates = {"rate": math.exp(sample.log_rate), "baseline": math.exp(centre)}
    again = float(np.median(sample.again)) if sample.again else math.nan
    return {**rates, "effect": math.expm1(sample.log_rate - centre), "nights": lasted, "again": again}


def _events(findings: Sequence[Finding], nights: int) -> tuple[Event, ...]:
    """One event per group, state and onset: what begins more than so many nights later is another one."""
    groups: dict[tuple[str, State], list[Finding]] = {}
    for one in findings:
        if one.state in ("regressed", "damaged"):
            groups.setdefault((one.series.group, one.state), []).append(one)
    events = [
        Event(group, tuple(sorted(some, key=_badness)))
        for (group, _), together in groups.items()
        for some in _by_onset(together, nights)
    ]
    return tuple(sorted(events, key=lambda event: _badness(event.findings[0])))


def _by_onset(findings: Sequence[Finding], nights: int) -> list[list[Finding]]:
    """Findings in sets that begin within so many nights of the first of each."""
    found: list[list[Finding]] = []
    for one in sorted(findings, key=lambda one: one.row):
        if not found or one.row - found[-1][0].row >= nights:
            found.append([])
        found[-1].append(one)
    return found


def _badness(finding: Finding) -> tuple[int, float]:
    """Worst first: by state, then by effect."""
    return SEVERITY.index(finding.state), finding.effect if math.isfinite(finding.effect) else 0.0
