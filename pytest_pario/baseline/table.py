"""A shelf as arrays: rows are nights, columns are series."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_pario.baseline.series import HINT, HINTS, Sample, Series
from pytest_pario.baseline.statistics import Bools, Floats, Ints
from pytest_pario.baseline.store import Acceptance, Night, Shelf
from pytest_pario.environment.facts import FACTS
from pytest_pario.environment.fingerprint import Difference, differences

UNSET = "unset"
"""Value of a hint on a night that recorded hints, but not this one."""
STATES_OF_RUN = frozenset(fact.name for fact in FACTS if fact.role == "state")


@dataclass(frozen=True, eq=False)
class Table:
    """What the judge reads."""

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
    apart: tuple[str, ...] = ()
    """Tests that measured one series on one night: each has a series of its own name."""


def tabulate(shelf: Shelf) -> Table:
    """Arrange all samples; a night on which a series' settings differ from its night before is marked."""
    shared = _shared(shelf.nights)
    samples = _by_series(shelf.nights, shared)
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
                changed[row, place[one]] = bool(setting_differences(before, settings))
            last[one] = settings
    names = tuple(sorted({one.group for one in series}))
    groups = np.array([names.index(one.group) for one in series], np.int64)
    accepts, reasons = _accepted(shelf, series)
    tonight = shelf.nights[-1].samples if shelf.nights else ()
    apart = {one.fullname for one in tonight if one.series in shared}
    return Table(shelf.nights, series, samples, logs, changed, groups, names, accepts, reasons, tuple(sorted(apart)))


def _shared(nights: Sequence[Night]) -> frozenset[Series]:
    """Series that two tests of one night measured: the judge could not tell which of them fell."""
    found = set()
    for night in nights:
        names: dict[Series, str] = {}
        found |= {one.series for one in night.samples if names.setdefault(one.series, one.fullname) != one.fullname}
    return frozenset(found)


def _kept_apart(sample: Sample, shared: frozenset[Series]) -> Sample:
    """The same with the test's name in its identity, on every night, where it is one of several."""
    if sample.series not in shared:
        return sample
    name, at, digest = sample.series.pattern.partition("@")
    own = dataclasses.replace(sample.series, pattern=f"{name} of {sample.fullname}{at}{digest}")
    return dataclasses.replace(sample, series=own)


def setting_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """What changed between two nights of a series: a hint that only one night has was unset on the other."""
    return differences(*with_unset_hints(before, after))


def with_unset_hints(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both sides with all hints, where both recorded hints at all: libraries tell only those that were passed."""
    sides = dict(before), dict(after)
    if all(HINTS in side for side in sides):
        names = {name for side in sides for name in side if name.startswith(HINT)}
        for side in sides:
            side.update(dict.fromkeys(names - set(side), UNSET))
    return sides


def _by_series(nights: Sequence[Night], shared: frozenset[Series]) -> tuple[dict[Series, Sample], ...]:
    """Samples of each night; one without bytes does not tell its size, and is of the series that its test last had."""
    last: dict[tuple[str, str, str], Series] = {}
    found = []
    for night in nights:
        samples = {}
        for told in night.samples:
            one = _kept_apart(told, shared)
            test = (one.fullname, one.series.pattern, one.series.phase)
            series = one.series if one.rates else last.get(test, one.series)
            last[test] = series
            samples[series] = one if series is one.series else dataclasses.replace(one, series=series)
        found.append(samples)
    return tuple(found)


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
