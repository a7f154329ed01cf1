"""Score rules on recorded nights: false reds, and how many injected falls are found in how many nights."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from pytest_pario.baseline.replay import GateTrace, Replay
from pytest_pario.baseline.rules import Gate
from pytest_pario.baseline.statistics import Bools, Floats

DROPS = (0.05, 0.10, 0.20, 0.30)
GONE_NIGHTS = 14
"""A red is false if the series is back within so many nights."""
BACK = float(np.log(0.95))
"""Back: the median of those nights is above this, against the baseline that the red was judged by."""
SLUMP = 0.20
"""A window all of whose nights are lower by this part is told apart: when it is judged it looks like a lasting fall."""
PLAIN_FLOOR = 0.05
"""Least spread of the plain rule."""
RESAMPLES = 2000
WARM = 30
"""Peers' rules are judged from this night of a series on, as many as their references look back."""


@dataclass(frozen=True)
class Score:
    """One row of the table."""

    name: str
    false: float
    """False reds per 100 tests per night."""
    found: tuple[float, ...]
    """Percent of injected falls of 5, 10, 20, 30 % that were red within the window."""
    nights: int
    """Of that window."""
    interval: tuple[float, float] = (np.nan, np.nan)
    """90 % interval of `false` over series drawn by chance: what another set of series might have given."""
    slumps: float = 0.0
    """The part of `false` where the whole window lay at least 20 % below, alone and beside the control."""
    strict: float = np.nan
    """False reds where a series counts as back also if it is so beside its control only."""


def gone(values: Floats, centre: Floats) -> Bools:
    """For each night of one series: whether the nights after it are back at the centre it was judged by."""
    found = np.zeros(len(values), bool)
    for night in range(len(values) - 1):
        found[night] = np.median(values[night + 1 : night + 1 + GONE_NIGHTS]) - centre[night] > BACK
    return found


@dataclass(frozen=True)
class Margins:
    """What a gate asks of one series, night by night."""

    nights: int
    excused: int
    own: Floats
    beside: Floats


def margins_of(gate: Gate, trace: GateTrace, column: int) -> Margins:
    """Those of a gate of ours."""
    own = gate.own_margin + gate.own_spreads * trace.spread[:, column]
    return Margins(gate.nights, gate.excused, own, gate.margin + gate.spreads * trace.controlled_spread[:, column])


def plain_margins(nights: int, spreads: float, trace: GateTrace, column: int) -> Margins:
    """Those of the plain rule that ours has to beat: 5 %, beside the control a part of the spread if that is more."""
    beside = np.maximum(-BACK, spreads * np.maximum(trace.controlled_spread[:, column], PLAIN_FLOOR))
    return Margins(nights, 0, np.full(len(beside), -BACK), beside)


def score_gate(name: str, seen: Replay, trace: GateTrace, margins: Callable[[int], Margins], columns: Bools) -> Score:
    """A gate asked afresh every night; falls are injected into one series at a time, the others being its control."""
    return score_series(
        name, [GateSeries(seen, trace, margins(int(column)), int(column)) for column in np.nonzero(columns)[0]]
    )


def score_series(name: str, series: Sequence[GateSeries]) -> Score:
    """False reds, and falls of one series at a time, of whatever says red."""
    tallies = []
    found = np.zeros(len(DROPS))
    nights = 0
    for one in series:
        nights = one.margins.nights
        red = one.reds(np.zeros(nights)) & one.ok
        back = gone(one.own, one.centre)
        slump = one.lies_below(np.log(1 - SLUMP))
        strict = back | gone(one.beside, one.c_centre)
        tallies.append([(red & back).sum(), (red & back & slump).sum(), (red & strict).sum(), one.ok.sum()])
        found += detect(one.reds, one.ok, nights)
    tally = np.array(tallies, float)
    false, slumps, strictly = 100 * tally[:, :3].sum(axis=0) / tally[:, 3].sum()
    shares = tuple(100 * found / len(series))
    return Score(name, float(false), shares, nights, _over_series(tally), float(slumps), float(strictly))


def _over_series(tally: Floats) -> tuple[float, float]:
    """90 % interval of the false rate when as many series are drawn again and again."""
    rng = np.random.default_rng(len(tally))
    drawn = tally[rng.integers(len(tally), size=(RESAMPLES, len(tally)))].sum(axis=1)
    low, high = np.percentile(100 * drawn[:, 0] / drawn[:, 3], [5, 95])
    return float(low), float(high)


class GateSeries:
    """One series as a gate saw it, night by night; falls can be added to it."""

    def __init__(self, seen: Replay, trace: GateTrace, margins: Margins, column: int) -> None:
        """Take the nights of a column that a gate may judge."""
        held: Bools = np.isfinite(seen.logs[:, column]) & np.isfinite(seen.control[:, column])
        self.held = held
        self.own: Floats = seen.logs[held, column]
        self.beside: Floats = self.own - seen.control[held, column]
        self.centre, self.c_centre = trace.centre[held, column], trace.controlled_centre[held, column]
        self.ok: Bools = np.isfinite(trace.need[held, column])
        self.margins = dataclasses.replace(margins, own=margins.own[held], beside=margins.beside[held])

    def reds(self, shift: Floats) -> Bools:
        """Which nights are red when the nights of each window are shifted so."""
        best, beside = self._falls(shift)
        result: Bools = (best < -self.margins.own) & (beside < -self.margins.beside)
        return result

    def low(self, shift: Floats) -> Bools:
        """On which nights the series itself, whatever its control does, lies below its margin."""
        best, _ = self._falls(shift)
        result: Bools = best < -self.margins.own
        return result

    def lies_below(self, log: float) -> Bools:
        """On which nights the nights that count for the gate lie below this, alone and beside the control."""
        best, beside = self._falls(np.zeros(self.margins.nights))
        result: Bools = (best < log) & (beside < log)
        return result

    def _falls(self, shift: Floats) -> tuple[Floats, Floats]:
        best = (_windows(self.own, self.margins.nights) + shift).max(axis=1)
        controlled = np.sort(_windows(self.beside, self.margins.nights) + shift, axis=1)[:, ::-1]
        return best - self.centre, controlled[:, self.margins.excused] - self.c_centre


def detect(reds: Callable[[Floats], Bools], ok: Bools, nights: int) -> Floats:
    """Part of the nights on which a fall of each size, begun there, is red within `nights` nights."""
    parts = []
    for drop in DROPS:
        hit = np.zeros(len(ok), bool)
        for lag in range(nights):
            # the last lag + 1 nights of the window have fallen
            shift = np.where(np.arange(nights) >= nights - 1 - lag, np.log(1 - drop), 0.0)
            red = reds(shift) & ok
            hit[: len(ok) - lag] |= red[lag:]
        begun = ok.copy()
        begun[len(ok) - nights + 1 :] = False
        parts.append(hit[begun].mean() if begun.any() else 0.0)
    return np.array(parts)


def _windows(values: Floats, nights: int) -> Floats:
    return sliding_window_view(np.concatenate([np.full(nights - 1, np.nan), values]), nights)


@dataclass(frozen=True)
class PeerRule:
    """How another tool decides, re-implemented on night values: alarm where the value is below a reference."""

    name: str
    limit: Callable[[Floats], Floats]
    """Of one series' logarithms: below which logarithm each night alarms, from the nights before it."""
    previous: bool = False
    """The reference is the night before, which an injected fall lowers too."""


def score_peer(rule: PeerRule, logs: Floats, columns: Bools, nights: int, all_false: bool) -> Score:
    """The same score for a peer's rule."""
    false = judged = 0
    found = np.zeros(len(DROPS))
    for column in np.nonzero(columns)[0]:
        values = logs[np.isfinite(logs[:, column]), column]
        limit = rule.limit(values)
        ok = np.isfinite(limit)
        red = ok & (values < limit)
        reference = limit - BACK if not rule.previous else np.concatenate([[np.nan], values[:-1]])
        back = np.ones(len(values), bool) if all_false else gone(values, reference)
        false += int((red & back).sum())
        judged += int(ok.sum())
        for number, drop in enumerate(DROPS):
            fall, hit = np.log(1 - drop), np.zeros(len(values), bool)
            for lag in range(nights):
                shifted = limit + (fall if rule.previous and lag else 0.0)
                alarm = ok & (values + fall < shifted)
                hit[: len(values) - lag] |= alarm[lag:]
            begun = ok.copy()
            begun[len(values) - nights + 1 :] = False
            found[number] += hit[begun].mean()
    return Score(rule.name, 100 * false / judged, tuple(100 * found / columns.sum()), nights)


def _trailing(values: Floats, what: Callable[[Floats], float]) -> Floats:
    return np.array([what(values[night - WARM : night]) if night >= WARM else np.nan for night in range(len(values))])


def _previous(percent: float) -> Callable[[Floats], Floats]:
    # time grew by more than `percent`: previous rate / rate - 1 > percent / 100
    def limit(values: Floats) -> Floats:
        return np.concatenate([np.full(WARM, np.nan), values[WARM - 1 : -1] - np.log1p(percent / 100)])

    return limit


def _reference(values: Floats) -> Floats:
    # a reference that somebody keeps up by hand: the median of the last 30 nights, minus 10 %
    return _trailing(values, lambda before: float(np.median(before) + np.log(0.9)))


def _z_score(values: Floats) -> Floats:
    # mean - 5 standard deviations of the rates of the last 30 nights
    def limit(before: Floats) -> float:
        rates = np.exp(before)
        low = rates.mean() - 5 * rates.std(ddof=1)
        return float(np.log(low)) if low > 0 else -np.inf

    found = _trailing(values, limit)
    return np.where(np.isneginf(found), -1e9, found)


PEERS = (
    PeerRule("pytest-benchmark mean:5%", _previous(5), previous=True),
    PeerRule("pytest-benchmark mean:10%", _previous(10), previous=True),
    PeerRule("ReFrame -10 %", _reference),
    PeerRule("Conbench z = 5", _z_score),
)
