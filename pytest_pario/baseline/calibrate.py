"""A site's own nights replayed: how often the gates would have cried wolf, and the least fall that they find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_pario.baseline.judge import MDE_PART
from pytest_pario.baseline.rules import DEFAULT, Rules
from pytest_pario.baseline.series import Series
from pytest_pario.baseline.table import Table
from pytest_pario.baseline.together import replay_nights, replay_together

DROPS = (0.05, 0.10, 0.20, 0.30)


@dataclass(frozen=True)
class Calibration:
    """One series."""

    series: Series
    nights: int
    """That could be judged."""
    false: float
    """Reds per 100 nights, alone or with the group, were every change by chance: the site's nights shuffled (A/A)."""
    found: tuple[float, ...]
    """Part of the nights on which a fall of 5, 10, 20, 30 %, begun that many nights before, would be red."""
    detectable: float
    """Least fall that is found on 80 of 100 nights, as a part; above 0.30 the test is blind."""


def calibrate(table: Table, rules: Rules = DEFAULT, shuffles: int = 20, seed: int = 1) -> list[Calibration]:
    """A/A by shuffling whole nights, which keeps what tests of a night share; falls on the nights as they were."""
    if not table.series:
        return []
    rng = np.random.default_rng(seed)
    red = np.zeros(len(table.series))
    judged = np.zeros(len(table.series))
    for _ in range(shuffles):
        logs = table.logs[rng.permutation(len(table.logs))]
        shuffled = replay_nights(logs, table.groups, rules=rules, keep_out=False)
        held = np.isfinite(shuffled.tests.unexplained.need)
        red += (shuffled.red & held).sum(axis=0)
        judged += held.sum(axis=0)
    seen = replay_together(table, rules)
    need = seen.tests.unexplained.need
    rows = []
    for column, series in enumerate(table.series):
        past = need[np.isfinite(need[:, column]) & ~seen.rising(column, rules), column]
        if not len(past):
            rows.append(Calibration(series, 0, float("nan"), (float("nan"),) * len(DROPS), float("nan")))
            continue
        found = tuple(float((past + np.log(1 - drop) < 0).mean()) for drop in DROPS)
        detectable = 1 - float(np.exp(-max(np.quantile(past, MDE_PART), 0.0)))
        rows.append(Calibration(series, len(past), 100 * red[column] / max(judged[column], 1), found, detectable))
    return rows
