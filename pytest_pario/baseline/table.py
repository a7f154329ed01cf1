"""A shelf as arrays: rows are nights, columns are series."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_pario.baseline.series import Sample, Series
from pytest_pario.baseline.statistics import Bools, Floats, Ints
from pytest_pario.baseline.store import Acceptance, Night, Shelf
from pytest_pario.environment.facts import FACTS
from pytest_pario.environment.fingerprint import differences

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


def tabulate(shelf: Shelf) -> Table:
    """Arrange all samples; a night on which a series' settings differ from its night before is marked."""
    samples = _by_series(shelf.nights)
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


def _by_series(nights: Sequence[Night]) -> tuple[dict[Series, Sample], ...]:
    """Samples of each night; one without bytes does not tell its size, and is of the series that its test last had."""
    last: dict[tuple[str, str, str], Series] = {}
    found = []
    for night in nights:
        samples = {}
        for one in night.samples:
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
