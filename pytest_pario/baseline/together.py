"""Tests and their groups replayed together: what a whole group does, the control of its members cannot see.

The groups come first. Nights on which a group is red are in no baseline of its members, neither their own nor that of
the control, so that a fall of the whole group stands like that of one test.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_pario.baseline.replay import Replay, put_back, replay, replay_groups
from pytest_pario.baseline.rules import DEFAULT, Rules
from pytest_pario.baseline.statistics import (
    Bools,
    Floats,
    Ints,
    compress,
    control_of,
    fill_forward,
    median,
    recent_median,
)
from pytest_pario.baseline.table import Table

CLIPPED = 3.0
"""Spreads beyond which a night's deviation counts no more for the correlation of nights."""
LEAST_PAIRED_NIGHTS = 60
"""With fewer nights that follow another, over all tests, their correlation is taken for UNKNOWN_SERIAL."""
UNKNOWN_SERIAL = 0.36
"""That of the tuning half of the recorded year."""
Accepts = Mapping[int, Sequence[int]]


@dataclass(frozen=True, eq=False)
class Together:
    """Both replays, and what the groups' says of each member; arrays of shape (nights, tests) where not said."""

    tests: Replay
    groups: Replay
    """Of shape (nights, groups)."""
    place: Ints
    """Column of each test's group."""
    red_by_group: Bools
    """Red because its whole group is and it fell too; red by itself comes first."""
    improved_by_group: Bools

    @property
    def red(self) -> Bools:
        """By itself or with its group."""
        return self.tests.red | self.red_by_group

    @property
    def improved(self) -> Bools:
        """By itself or with its group."""
        return self.tests.improved | self.improved_by_group

    @functools.cached_property
    def serial(self) -> float:
        """Correlation of a night's deviation with that of the next night, over all tests; no less than 0."""
        trace = self.tests.unexplained
        known = self.tests.kept & np.isfinite(trace.need)
        deviation = np.clip((self.tests.logs - trace.centre) / trace.spread, -CLIPPED, CLIPPED)
        values, _, count = compress(np.where(known, deviation, np.nan))
        values -= median(values)
        pairs = max(int(np.maximum(count - 1, 0).sum()), 0)
        if pairs < LEAST_PAIRED_NIGHTS:
            return UNKNOWN_SERIAL
        return max(float(np.nansum(values[1:] * values[:-1]) / max(np.nansum(values**2), 1e-12)), 0.0)

    def rising(self, column: int, rules: Rules) -> Bools:
        """Nights of windows that ended improved, and those whose baseline has both levels: no measure of the gate."""
        used = np.nonzero(self.tests.used[:, column])[0]
        marked = np.zeros(len(self.red), bool)
        for place in np.nonzero(self.improved[used, column])[0]:
            marked[used[max(place - rules.unexplained.nights + 1, 0) : place + 1 + rules.baseline_nights]] = True
        return marked


def replay_together(table: Table, rules: Rules = DEFAULT, *, alone: bool = False) -> Together:
    """Replay a whole table; `alone` while the peers of the last night have not run yet."""
    return replay_nights(table.logs, table.groups, table.changed, table.accepts, rules, alone=alone)


def replay_nights(
    logs: Floats,
    groups: Ints,
    changed: Bools | None = None,
    accepts: Accepts | None = None,
    rules: Rules = DEFAULT,
    *,
    alone: bool = False,
    keep_out: bool = True,
) -> Together:
    """The same of arrays; without `keep_out` every night is judged as if nothing had been red before it."""
    accepts = accepts or {}
    waves, single = split_accepts(accepts, groups, rules.group_unexplained.nights)
    level = splice(logs, single, rules.baseline_nights)
    names, whole = replay_groups(level, groups, changed, rules, accepts=waves, keep_out=keep_out)
    place = np.searchsorted(names, groups).astype(np.int64)
    out: Bools = (whole.used & ~whole.kept)[:, place]
    spliced = splice(logs, accepts, rules.baseline_nights)
    control = control_of(spliced, groups, rules.control_nights, rules.control_least, rules.control_peers, out=out)
    if alone:
        control[-1] = np.where(np.isfinite(control[-1]), control[-1], 0.0)
    tests = replay(logs, groups, changed, accepts, rules, control=control, keep_out=keep_out, out=out)
    return Together(tests, whole, place, *_of_members(tests, whole, place, rules))


def _of_members(tests: Replay, whole: Replay, place: Ints, rules: Rules) -> tuple[Bools, Bools]:
    """Which members are red, and improved, with their group.

    Red are those whose own best night is below their own margin: what is asked of a test alone but for its control.
    """
    # a group of which too few ran is as it was, for those of its members that are low tonight
    known = whole.used[:, place]
    stands, explained = (
        fill_forward(np.where(whole.used, flags, np.nan))[:, place] == 1.0 for flags in (whole.red, whole.red_explained)
    )
    centre, gate = tests.unexplained.centre, rules.group_unexplained
    tonight = tests.logs - centre < -gate.own_margin
    fallen = np.where(explained, tests.explained.own, tests.unexplained.own) < 0
    red = stands & (known | tonight) & fallen & ~tests.red & ~tests.accepted
    values, rows, _ = compress(np.where(tests.used, tests.logs, np.nan))
    risen = put_back(recent_median(values, gate.nights), rows, np.nan) - centre > gate.own_margin
    improved = whole.improved[:, place] & risen & ~tests.red & ~tests.improved
    return red, improved


def split_accepts(accepts: Accepts, groups: Ints, nights: int) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Acceptances of whole groups, by the group's place, and those of single tests, by column.

    A group is accepted from the row on up to which, within so many nights, half of its members were.
    """
    waves: dict[int, list[int]] = {}
    single: dict[int, list[int]] = {column: list(rows) for column, rows in accepts.items()}
    for number, group in enumerate(np.unique(groups)):
        members = [int(column) for column in np.nonzero(groups == group)[0]]
        for row in sorted({row for column in members for row in accepts.get(column, ())}):
            near = [one for one in members if any(row - nights < at <= row for at in single.get(one, ()))]
            if 2 * len(near) < len(members):
                continue
            waves.setdefault(number, []).append(row)
            for one in near:
                single[one] = [at for at in single[one] if not row - nights < at <= row]
    return waves, {column: rows for column, rows in single.items() if rows}


def splice(logs: Floats, accepts: Accepts, nights: int) -> Floats:
    """Nights before an acceptance at the level of those after it, column by column."""
    found = logs.copy()
    for column, given in accepts.items():
        rows = sorted(given)
        for row, end in zip(rows, [*rows[1:], len(logs)], strict=True):
            before, after = found[:row, column], found[row:end, column]
            before, after = before[np.isfinite(before)][-nights:], after[np.isfinite(after)][:nights]
            if len(before) and len(after):
                found[:row, column] += np.median(after) - np.median(before)
    return found
