"""What the operator asks of the store: check, accept, history, nights, calibrate. Needs neither MPI nor pytest."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pytest_pario.baseline.calibrate import DROPS, calibrate
from pytest_pario.baseline.judge import Judgement, judge
from pytest_pario.baseline.series import Series
from pytest_pario.baseline.store import Acceptance, Night, Shelf, Store, choose_machine
from pytest_pario.baseline.table import Table, tabulate
from pytest_pario.baseline.together import Together, replay_together
from pytest_pario.environment.fingerprint import differences
from pytest_pario.errors import ParameterError
from pytest_pario.report.fingerprint import describe_differences
from pytest_pario.report.verdicts import history_lines, markdown_lines, sentence_of, terminal_lines

FINE, FAILED, REGRESSED, UNJUDGED = 0, 1, 3, 4
"""Exit statuses beside 2, a wrong call."""
MACHINE = "--machine"
GLOB = frozenset("*?[")


def exit_status(judgement: Judgement) -> int:
    """1 for wrong bytes or failed tests, 3 for a confirmed regression, 4 where nothing could be judged."""
    states = {one.state for one in judgement.findings}
    if "damaged" in states or judgement.failures:
        return FAILED
    if "regressed" in states:
        return REGRESSED
    return FINE if judgement.judged and not judgement.unread else UNJUDGED


def open_shelf(root: Path, machine: str | None) -> Shelf:
    """Read a machine's nights."""
    shelf = Store(root, choose_machine(root, machine, MACHINE), MACHINE).read()
    if not shelf.nights and not shelf.refused:
        raise ParameterError(MACHINE, shelf.machine, f"a machine with nights below {root}", "command line")
    return shelf


def check(root: Path, machine: str | None, markdown: bool, verbose: bool) -> tuple[int, list[str]]:
    """Judge the last night."""
    judgement = judge(open_shelf(root, machine))
    lines = markdown_lines(judgement) if markdown else terminal_lines(judgement, verbose)
    return exit_status(judgement), lines


def accept(root: Path, machine: str | None, name: str | None, since: str | None, reason: str) -> tuple[int, list[str]]:
    """Take a level as the new normal, for one series or for all that are red; what is red all the same is told."""
    shelf = open_shelf(root, machine)
    judgement = judge(shelf)
    if name is None:
        chosen = [one.series for one in judgement.findings if one.state == "regressed"]
        if not chosen:
            return FINE, ["nothing is red, nothing to accept"]
    else:
        chosen = select_for_change(tabulate(shelf).series, name)
    # everything is known before anything is saved: all or none
    found = [Acceptance(str(one), find_night(shelf, _begun(judgement, one, since)).time, reason) for one in chosen]
    store, lines = Store(root, shelf.machine, MACHINE), []
    for acceptance in found:
        path = store.save_acceptance(acceptance)
        lines.append(f"accepted {acceptance.series} since {acceptance.since} ({path.name}): {reason}")
    still = [one for one in judge(store.read()).findings if one.state == "regressed" and one.series in chosen]
    for one in still:
        lines.append(f"STILL RED: {sentence_of(one)}; its level began there: --since {one.begun or 'NIGHT'}")
    return REGRESSED if still else FINE, lines


def _begun(judgement: Judgement, series: Series, since: str | None) -> str:
    """The night that the operator names, or else the one on which the red began."""
    begun = since or next((one.begun for one in judgement.findings if one.series == series and one.begun), None)
    if begun is None:
        raise ParameterError("--since", since, f"a night, for {series} is not red tonight", "command line")
    return begun


def find_night(shelf: Shelf, text: str) -> Night:
    """The first night whose name or time begins with a text."""
    # 2026-01-31 14:20, as sentences have it
    time = text.strip().replace(" ", "T")
    for night in shelf.nights:
        if night.name.startswith(text) or night.time.startswith(time):
            return night
    raise ParameterError("--since", text, "a date or name of a night that `pario nights` lists", "command line")


def select(series: Sequence[Series], text: str) -> list[Series]:
    """Series whose identity is, contains or matches a text."""
    exact = [one for one in series if text in (str(one), one.pattern, one.short, one.name)]
    found = exact or [one for one in series if text in str(one) or fnmatch.fnmatch(str(one), text)]
    if not found:
        known = "; ".join(str(one) for one in series[:5])
        raise ParameterError("SERIES", text, f"part of a series' name, such as {known}", "command line")
    return found


def select_for_change(series: Sequence[Series], text: str) -> list[Series]:
    """The same where something is going to be changed: several only if a pattern with * ? [ asks for them."""
    found = select(series, text)
    if len(found) > 1 and not GLOB & set(text):
        allowed = f"the name of one series, or a pattern with * ? [; this matches {'; '.join(map(str, found))}"
        raise ParameterError("SERIES", text, allowed, "command line")
    return found


def history(root: Path, machine: str | None, name: str) -> list[str]:
    """Every night of the series that match, with what was said then and which facts changed."""
    shelf = open_shelf(root, machine)
    table = tabulate(shelf)
    lines: list[str] = [f"refused: {one}" for one in shelf.refused]
    chosen = select(table.series, name)
    seen = replay_together(table, shelf.rules)
    for series in chosen:
        lines += [str(series), *history_lines(_rows(table, seen, series)), ""]
    return lines


def _rows(table: Table, seen: Together, series: Series) -> list[tuple[str, float, Sequence[float], str, list[str]]]:
    """(night, MiB/s, repetitions, state, changed facts) of one series, oldest first."""
    column = table.series.index(series)
    rows: list[tuple[str, float, Sequence[float], str, list[str]]] = []
    before: Mapping[str, Any] | None = None
    for row, night in enumerate(table.nights):
        sample = table.samples[row].get(series)
        if sample is None:
            continue
        changed = describe_differences(differences(before, sample.facts)) if before is not None else []
        before = sample.facts
        rate = math.exp(sample.log_rate) if math.isfinite(sample.log_rate) else math.nan
        rows.append((night.name, rate, sample.rates, sample.damaged or _state(seen, row, column), changed))
    return rows


def _state(seen: Together, row: int, column: int) -> str:
    """What was said of a series on a night, in a word or two."""
    flags = (
        ("red", seen.tests.red),
        ("red with its group", seen.red_by_group),
        ("yellow", seen.tests.yellow),
        ("improved", seen.tests.improved),
        ("improved with its group", seen.improved_by_group),
        ("accepted", seen.tests.accepted),
    )
    return next((word for word, array in flags if array[row, column]), "")


def nights(root: Path, machine: str | None) -> list[str]:
    """All nights, and which facts changed between them."""
    shelf = open_shelf(root, machine)
    table = tabulate(shelf)
    lines = [f"refused: {one}" for one in shelf.refused]
    last: dict[Series, object] = {}
    for row, night in enumerate(table.nights):
        told: dict[str, int] = {}
        for series, sample in table.samples[row].items():
            before = last.get(series)
            for text in describe_differences(differences(before, sample.facts)) if isinstance(before, dict) else ():
                told[text] = told.get(text, 0) + 1
            last[series] = dict(sample.facts)
        lines.append(f"{night.name}  {len(night.samples)} series")
        lines += [f"    {one.kind}: {one.fullname}: {one.sentence}" for one in night.failures]
        lines += [f"    {text}" + (f"  ({count} series)" if count > 1 else "") for text, count in told.items()]
    lines += [f"accepted {one.series} since {one.since}: {one.reason}" for one in shelf.acceptances]
    return lines


def calibration(root: Path, machine: str | None) -> list[str]:
    """False alarms and least detectable falls of every series, worst first."""
    shelf = open_shelf(root, machine)
    table: Table = tabulate(shelf)
    rows = sorted(
        calibrate(table, shelf.rules), key=lambda row: -row.detectable if math.isfinite(row.detectable) else math.inf
    )
    head = (
        f"{'nights':>6}  {'false/100':>9}  "
        + "  ".join(f"{f'-{drop:.0%}':>5}" for drop in DROPS)
        + "  least fall  series"
    )
    lines = [f"refused: {one}" for one in shelf.refused]
    lines += [f"rule of this site: {one}" for one in shelf.site_rules]
    if table.series:
        lines.append(head)
    for row in rows:
        if not row.nights:
            lines.append(f"{row.nights:>6}  {'learning':>9}  {row.series}")
            continue
        found = "  ".join(f"{part:>5.0%}" for part in row.found)
        blind = " blind" if row.detectable > shelf.rules.blind_effect else ""
        lines.append(f"{row.nights:>6}  {row.false:>9.2f}  {found}  {row.detectable:>10.0%}  {row.series}{blind}")
    judged = [row for row in rows if row.nights]
    if judged:
        lines.append(f"mean: {np.mean([row.false for row in judged]):.2f} false reds per 100 tests per night")
    return lines
