"""The verdict that an operator gets, scored: red by a test's own gate, or with its group."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from pytest_pario.baseline.effect import begin_level
from pytest_pario.baseline.rules import DEFAULT, Gate, Rules
from pytest_pario.baseline.statistics import Bools, Floats
from pytest_pario.baseline.together import Together, replay_nights
from pytest_pario.bench.verdict_data import Nights
from pytest_pario.bench.verdict_score import DROPS, GateSeries, Score, detect, gone, margins_of, score_series

ACCEPTED = 14
"""Nights after which a standing red is taken as accepted, so that a year can be replayed without its operator."""


class _Member(GateSeries):
    """A series that is red by itself, or if its group is and it fell by its own margin."""

    def __init__(self, seen: Together, name: str, gate: Gate, column: int, group: GateSeries) -> None:
        trace = getattr(seen.tests, name)
        super().__init__(seen.tests, trace, margins_of(gate, trace, column), column)
        self.group, self.place = group, int(seen.place[column])
        self._with_group = self.of_group(np.zeros(group.margins.nights))

    def reds(self, shift: Floats) -> Bools:
        """Only this series is shifted, its group is as it was."""
        return super().reds(shift) | (self._with_group & self.low(shift))

    def reds_together(self, shift: Floats) -> Bools:
        """The whole group is shifted, to which the control is blind."""
        return super().reds(np.zeros(self.margins.nights)) | (
            self.of_group(shift) & self.low(shift[-self.margins.nights :])
        )

    def of_group(self, shift: Floats) -> Bools:
        """Which of the nights of this series its group is red on."""
        found = np.zeros(len(self.held), bool)
        found[self.group.held] = self.group.reds(shift) & self.group.ok
        return found[self.held]


def score_union(nights: Nights, columns: Bools, name: str, rules: Rules = DEFAULT) -> tuple[Score, Score]:
    """Per test with falls of one of them, and per event (a group and a night) with falls of whole groups."""
    seen = replay_nights(nights.logs, nights.groups, rules=rules, keep_out=False)
    gate, trace = getattr(rules, f"group_{name}"), getattr(seen.groups, name)
    groups = [
        GateSeries(seen.groups, trace, margins_of(gate, trace, place), place)
        for place in range(seen.groups.logs.shape[1])
    ]
    members = [
        _Member(seen, name, getattr(rules, name), int(column), groups[seen.place[column]])
        for column in np.nonzero(columns)[0]
    ]
    return score_series(f"verdict, {name}", members), _score_events(f"its events, {name}", members, gate.nights)


def _score_events(name: str, members: list[_Member], nights: int) -> Score:
    events: set[tuple[int, int]] = set()
    judged, found = 0, np.zeros(len(DROPS))
    for one in members:
        false = one.reds(np.zeros(one.margins.nights)) & one.ok & gone(one.own, one.centre)
        events |= {(one.place, int(night)) for night in np.nonzero(one.held)[0][false]}
        judged += int(one.ok.sum())
        found += detect(one.reds_together, one.ok, nights)
    return Score(name, 100 * len(events) / judged, tuple(100 * found / len(members)), nights)


@dataclasses.dataclass(frozen=True)
class Year:
    """Nights as an operator met them, who accepts whatever was red for 14 nights."""

    red: Bools
    begun: Bools
    """The first nights of reds."""
    level: dict[tuple[int, int], int]
    """By night and column of a red's first night: the night from which it is dated then."""
    judged: int


def operator_year(nights: Nights, rules: Rules = DEFAULT) -> Year:
    """Replay a year, taking reds that stand for long as accepted from the night that they are dated to."""
    logs, groups = nights.logs, nights.groups
    accepts: dict[int, list[int]] = {}
    red, stood = np.zeros(logs.shape, bool), np.zeros(logs.shape[1], np.int64)
    begun = np.zeros(logs.shape, bool)
    level: dict[tuple[int, int], int] = {}
    judge = functools.partial(replay_nights, groups=groups, rules=rules)
    seen = judge(logs, accepts=accepts)
    judged = int(np.isfinite(seen.tests.unexplained.need).sum())
    for night in range(len(logs)):
        here = seen.tests.used[night]
        red[night] = np.where(here, seen.red[night], stood > 0)
        begun[night] = here & red[night] & (stood == 0)
        stood = np.where(red[night], stood + here, 0)
        due = np.nonzero(stood >= ACCEPTED)[0]
        if not len(due) and not begun[night].any():
            continue
        tonight = judge(logs[: night + 1], accepts=accepts)
        level |= {(night, int(one)): begin_level(tonight, int(one), rules) for one in np.nonzero(begun[night])[0]}
        for one in due:
            accepts.setdefault(int(one), []).append(begin_level(tonight, int(one), rules))
        stood[due] = 0
        if len(due):
            seen = judge(logs, accepts=accepts)
    return Year(red, begun, level, judged)
