"""Write the last night of a machine as a page; needs neither MPI nor pytest."""

from __future__ import annotations

import math
from pathlib import Path

from pytest_pario.baseline.judge import judge
from pytest_pario.baseline.series import Series
from pytest_pario.baseline.table import tabulate
from pytest_pario.errors import ParameterError
from pytest_pario.report.page import page
from pytest_pario.session.operator import exit_status, open_shelf

MOST_NIGHTS = 90
"""Nights that a curve shows."""


def write_page(root: Path, machine: str | None, path: Path) -> int:
    """Judge the last night and write the page; the status is that of `pario check`."""
    shelf = open_shelf(root, machine)
    judgement, table = judge(shelf), tabulate(shelf)
    histories: dict[Series, list[tuple[str, float]]] = {}
    for series in table.series:
        rows = list(zip(table.nights, table.samples, strict=True))[-MOST_NIGHTS:]
        logs = [(night.date, samples[series].log_rate if series in samples else math.nan) for night, samples in rows]
        histories[series] = [(date, math.exp(log) if math.isfinite(log) else math.nan) for date, log in logs]
    try:
        path.write_text(page(shelf.machine, judgement, histories), encoding="utf-8")
    except OSError as error:
        raise ParameterError(
            "FILE", str(path), f"a file that can be written: {error.strerror}", "command line"
        ) from error
    return exit_status(judgement)
