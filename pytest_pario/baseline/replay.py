"""Replay nights in order: what the gates said of every test on every night, with red nights kept out of baselines.

Sequential over nights, because a red night is kept out of the baselines of later ones; vectorised over tests.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_pario.baseline.rules import DEFAULT, Gate, Rules
from pytest_pario.baseline.statistics import (
    Bools,
    Floats,
    Ints,
    centre_and_spread,
    compress,
    control_of,
    last_kept,
    median,
)

LOOK_BACK = 200
"""Nights before tonight in which a baseline is looked for first; a red that stands for longer needs more of them."""


@dataclass(frozen=True, eq=False)
class GateTrace:
    """What one gate saw: arrays of shape (nights, tests), NaN where a night has no value or no baseline."""

    centre: Floats
    """Median of the test's baseline, a logarithm."""
    spread: Floats
    controlled_centre: Floats
    """Median of the baseline beside the control."""
    controlled_spread: Floats
    own: Floats
    """By how much the test itself, whatever its control says, would still have to fall for red."""
    need: Floats
    """By how much the logarithm would still have to fall for red; negative where the gate says red."""


@dataclass(frozen=True, eq=False)
class Replay:
    """What was said of every test on every night; arrays of shape (nights, tests)."""

    logs: Floats
    """Logarithm of the night's rate; NaN where there is none."""
    control: Floats
    """What the peers did on that night; NaN where too few of them ran."""
    explained: GateTrace
    unexplained: GateTrace
    red: Bools
    red_explained: Bools
    """Red by the gate of explained windows."""
    yellow: Bools
    improved: Bools
    used: Bools
    """Nights that count: with a value, and with a control unless the test never has one."""
    kept: Bools
    """Nights that later baselines may use."""
    missing: Ints
    """Nights that a test still lacks before it can be judged."""
    accepted: Bools
    """Not judged, because the level was accepted only just now."""


class _Columns:
    """State of all tests while nights go by, in compressed rows: row k is a test's k-th night with a value."""

    def __init__(
        self,
        logs: Floats,
        control: Floats,
        changed: Bools,
        accepts: Mapping[int, Sequence[int]],
        rules: Rules,
        *,
        out: Bools | None = None,
    ) -> None:
        self.rules = rules
        # a night without control is passed over, unless the test never had any: then it is judged by itself
        alone = np.isfinite(control).sum(axis=0) < np.isfinite(logs).sum(axis=0) / 2
        self.values, self.rows, self.count = compress(np.where(np.isfinite(control) | alone, logs, np.nan))
        safe = np.maximum(self.rows, 0)
        shift = np.take_along_axis(np.nan_to_num(control), safe, axis=0)
        self.controlled = self.values - shift
        self.changed = np.take_along_axis(changed, safe, axis=0) & (self.rows >= 0)
        self.kept = np.isfinite(self.values)
        if out is not None:
            self.kept &= ~np.take_along_axis(out, safe, axis=0)
        self.starts = {
            column: sorted(int((self.rows[: self.count[column], column] < night).sum()) for night in nights)
            for column, nights in accepts.items()
        }

    def slices(self, k: int, nights: int) -> tuple[Floats, Floats, Bools, int, set[int]]:
        """Values, controlled values and usable rows up to row k, spliced where a level was accepted."""
        low = self._first_row(k, k - nights + 1)
        own, controlled = self.values[low : k + 1].copy(), self.controlled[low : k + 1].copy()
        usable, unjudged = self.kept[low : k + 1].copy(), set()
        for column, starts in self.starts.items():
            begun = [start for start in starts if start <= k]
            if not begun:
                continue
            if k - nights + 1 - begun[-1] < self.rules.accepted_least:
                unjudged.add(column)
                continue
            for start, end in zip(begun, [*begun[1:], k - nights + 1], strict=True):
                if start > low:  # of an older one all nights that are looked at lie behind
                    self._splice((own, controlled), usable, column, start - low, end - low)
        return own, controlled, usable, low, unjudged

    def _first_row(self, k: int, first: int) -> int:
        """Where to begin to look: far enough back for whole baselines, however long a red has stood."""
        back, here = LOOK_BACK, self.count > k
        while (low := max(0, first - back)) > 0:
            if (self.kept[low:first, here].sum(axis=0) >= self.rules.baseline_nights).all():
                break
            back *= 2
        return low

    def _splice(self, both: tuple[Floats, Floats], usable: Bools, column: int, start: int, end: int) -> None:
        """Give the nights before an acceptance the centre of those from it to `end`; they keep their spread."""
        nights = self.rules.baseline_nights
        for values in both:
            after = values[start:end, column][:nights]
            before = last_kept(values[:start, [column]], usable[:start, [column]], nights)
            if np.isfinite(before).any() and np.isfinite(after).any():
                values[:start, column] += np.nanmedian(after) - np.nanmedian(before)


def replay(
    logs: Floats,
    groups: Ints,
    changed: Bools | None = None,
    accepts: Mapping[int, Sequence[int]] | None = None,
    rules: Rules = DEFAULT,
    *,
    control: Floats | None = None,
    keep_out: bool = True,
    out: Bools | None = None,
) -> Replay:
    """Judge every night of every test as it would have been judged then.

    `logs` (nights, tests) are logarithms of each night's rate; `groups` names each test's group; `changed` says on
    which nights a test's fingerprint differs from its night before; `accepts` gives, by column, the rows from which a
    level is accepted. `control` replaces the one that follows from the groups. Without `keep_out` every night is judged
    as if nothing had been red before it: for comparing rules. Nights in `out` are in no later baseline, whatever the
    gates say of them.
    """
    changed = np.zeros(logs.shape, bool) if changed is None else changed
    if control is None:
        control = control_of(logs, groups, rules.control_nights, rules.control_least, rules.control_peers)
    columns = _Columns(logs, control, changed, accepts or {}, rules, out=out)
    return _Scan(columns, rules, keep_out).run(logs, control)


def replay_groups(
    logs: Floats, groups: Ints, changed: Bools | None = None, rules: Rules = DEFAULT, **how: Any
) -> tuple[Ints, Replay]:
    """The same for the median of each group, to which the control is blind: (group of each column, its replay).

    `how` has more arguments of `replay`.
    """
    names = np.unique(groups)
    # each member around its own median of all nights, so that a lasting fall of the group stays visible
    around = logs - median(logs)
    level = np.column_stack([_level(around[:, groups == name], rules.control_peers + 1) for name in names])
    moved = np.zeros(level.shape, bool)
    if changed is not None:
        moved = np.column_stack([changed[:, groups == name].any(axis=1) for name in names])
    own = dataclasses.replace(rules, explained=rules.group_explained, unexplained=rules.group_unexplained)
    still = np.zeros(level.shape)
    return names, replay(level, np.arange(len(names)), moved, rules=own, control=still, **how)


def _level(around: Floats, least: int) -> Floats:
    found = median(around, axis=1)
    found[np.isfinite(around).sum(axis=1) < least] = np.nan
    return found


class _Scan:
    """One pass over the nights."""

    def __init__(self, columns: _Columns, rules: Rules, keep_out: bool) -> None:
        self.columns, self.rules, self.keep_out = columns, rules, keep_out
        shape = columns.values.shape
        self.gates = (rules.explained, rules.unexplained)
        self.traces = [[np.full(shape, np.nan) for _ in range(6)] for _ in self.gates]
        self.red, self.red_explained, self.yellow, self.improved, self.accepted = (
            np.zeros(shape, bool) for _ in range(5)
        )
        self.missing = np.zeros(shape, np.int64)

    def run(self, logs: Floats, control: Floats) -> Replay:
        """Go night by night, then put all rows back to their nights."""
        standing = np.zeros(logs.shape[1], bool)
        for k in range(int(self.columns.count.max(initial=0))):
            explained, unexplained = (self._see(number, gate, k) for number, gate in enumerate(self.gates))
            window = self.rules.explained.nights
            excuse = standing | self.columns.changed[max(0, k - window + 1) : k + 1].any(axis=0)
            self.red_explained[k] = explained & excuse
            self.red[k] = self.red_explained[k] | unexplained
            standing = self.red_explained[k]
            for red, gate in ((self.red_explained[k], self.rules.explained), (unexplained, self.rules.unexplained)):
                if self.keep_out:
                    self.columns.kept[max(0, k - gate.nights + 1) : k + 1, red] = False
        rows = self.columns.rows
        explained_trace, unexplained_trace = (
            GateTrace(*(put_back(one, rows, np.nan) for one in t)) for t in self.traces
        )
        return Replay(
            logs,
            control,
            explained_trace,
            unexplained_trace,
            red=put_back(self.red, rows, False),
            red_explained=put_back(self.red_explained, rows, False),
            yellow=put_back(self.yellow, rows, False),
            improved=put_back(self.improved, rows, False),
            used=put_back(np.isfinite(self.columns.values), rows, False),
            kept=put_back(self.columns.kept, rows, False),
            missing=put_back(self.missing, rows, 0),
            accepted=put_back(self.accepted, rows, False),
        )

    def _see(self, number: int, gate: Gate, k: int) -> Bools:
        """Note what a gate sees in row k; true where it says red."""
        own, controlled, usable, low, unjudged = self.columns.slices(k, gate.nights)
        first = max(k - gate.nights + 1 - low, 0)
        known, floor = self.rules.baseline_nights, self.rules.spread_floor
        base = last_kept(own[:first], usable[:first], known)
        beside = last_kept(controlled[:first], usable[:first], known)
        enough = np.isfinite(base).sum(axis=0) >= self.rules.baseline_least
        here = np.isfinite(own[-1])
        judged: Bools = enough & here
        judged[list(unjudged)] = False
        if number == 1:
            lacking = np.maximum(self.rules.baseline_least - np.isfinite(base).sum(axis=0), 0)
            self.missing[k] = np.where(here, lacking + max(gate.nights - 1 - k, 0), 0)
            self.accepted[k, list(unjudged)] = True
        if not judged.any():
            return np.zeros(len(judged), bool)
        (centre, spread), (c_centre, c_spread) = centre_and_spread(base, floor), centre_and_spread(beside, floor)
        window = np.sort(own[first:], axis=0)[::-1] - centre
        beside_window = np.sort(controlled[first:], axis=0)[::-1] - c_centre
        least_own, least = gate.own_margin + gate.own_spreads * spread, gate.margin + gate.spreads * c_spread
        fallen = window[0] + least_own
        need = np.maximum(fallen, beside_window[gate.excused] + least)
        seen = (centre, spread, c_centre, c_spread, fallen, need)
        for array, value in zip(self.traces[number], seen, strict=True):
            array[k] = np.where(judged, value, np.nan)
        if number == 1:
            tonight, tonight_beside = own[-1] - centre, controlled[-1] - c_centre
            low_enough = np.maximum(self.rules.yellow_margin, self.rules.yellow_spreads * spread)
            beside_enough = np.maximum(self.rules.yellow_margin, self.rules.yellow_spreads * c_spread)
            self.yellow[k] = judged & (tonight < -low_enough) & (tonight_beside < -beside_enough)
            # transients only lower bandwidth: one bad night in the window does not hide an improvement
            second = max(gate.nights - 2, 0)
            self.improved[k] = judged & (window[second] > least_own) & (beside_window[second] > least)
        red: Bools = judged & (need < 0)
        return red


def put_back(compressed: Any, rows: Ints, empty: object) -> Any:
    """Put rows back to the nights they came from."""
    found = np.full(compressed.shape, empty, dtype=compressed.dtype)
    held = rows >= 0
    column = np.broadcast_to(np.arange(rows.shape[1]), rows.shape)
    found[rows[held], column[held]] = compressed[held]
    return found
