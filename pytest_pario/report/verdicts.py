"""Verdicts as sentences, terminal lines and Markdown; worst first, one line per event."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pytest_pario.baseline.judge import SEVERITY, Event, Finding, Judgement
from pytest_pario.model import Verdict
from pytest_pario.report.fingerprint import describe_differences

MOST_FACTS = 3
"""Changed facts that a sentence names; the rest is counted."""


def verdict_of(finding: Finding) -> Verdict:
    """What a suite gets: true or false, and its repr is its sentence."""
    return Verdict(finding.state, sentence_of(finding))


def sentence_of(finding: Finding) -> str:
    """One sentence: `strided-32k/read: 827 MiB/s, baseline 1074 MiB/s (-23 % [-27,-18]) since 2026-03-02 …`."""
    head = f"{finding.series.short}: {_rate(finding.rate)}"
    if finding.state in ("damaged", "learning", "accepted"):
        return (
            f"{finding.series.short}: damaged: {finding.damage}" if finding.damage else f"{head}, {_unjudged(finding)}"
        )
    text = f"{head}, baseline {_rate(finding.baseline)} ({effect_of(finding)})"
    if finding.state == "blind":
        return f"{text}, blind: only a fall of {finding.detectable:.0%} or more would be found"
    if finding.state == "yellow":
        return f"{text}, yellow: low tonight only; measured again, never failed for one night"
    if finding.since:
        text += f" since {finding.since}, {finding.nights} nights"
    if finding.by_group:
        text += f", with its whole group ({finding.series.group})"
    return text + _changed(finding)


def _unjudged(finding: Finding) -> str:
    if finding.state == "accepted":
        return f"accepted as the new level: {finding.reason}"
    if finding.reason:
        return f"not judged: {finding.reason}"
    return f"learning: {finding.missing} more night{'s' if finding.missing > 1 else ''} before it can be judged"


def effect_of(finding: Finding) -> str:
    """`-23 % [-27,-18]`, the interval over nights."""
    if not math.isfinite(finding.effect):
        return "no effect known"
    told = f"{100 * finding.effect:+.0f} %"
    if math.isfinite(finding.low):
        told += f" [{100 * finding.low:+.0f},{100 * finding.high:+.0f}]"
    return told


def event_line(event: Event) -> str:
    """One line of an event: its worst test, and how many others."""
    others = len(event.findings) - 1
    more = f"; and {others} other{'s' if others > 1 else ''} of {event.group}" if others else ""
    return sentence_of(event.findings[0]) + more


def summary_line(judgement: Judgement) -> str:
    """Counts of all states."""
    counts = {state: sum(one.state == state for one in judgement.findings) for state in SEVERITY}
    told = ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "nothing measured"
    night = judgement.night.date if judgement.night else "no night"
    return f"{night}: {told}"


def terminal_lines(judgement: Judgement, verbose: bool = False) -> list[str]:
    """Refused files, events, yellow and improved tests, then counts; `verbose` has every test."""
    lines = [f"refused: {one}" for one in judgement.refused]
    lines += [
        f"REGRESSED {event_line(event)}" if event.findings[0].state == "regressed" else event_line(event)
        for event in judgement.events
    ]
    shown = SEVERITY if verbose else ("yellow", "improved", "accepted")
    lines += [
        sentence_of(one)
        for state in shown
        for one in judgement.findings
        if one.state == state and state not in ("regressed", "damaged")
    ]
    learning = [one.missing for one in judgement.findings if one.state == "learning" and one.missing]
    if learning and not verbose:
        lines.append(f"{len(learning)} tests are learning; the last one is judged in {max(learning)} nights")
    return [*lines, summary_line(judgement)]


def markdown_lines(judgement: Judgement) -> list[str]:
    """A table with one line per event, worst first."""
    lines = [f"### {summary_line(judgement)}", ""]
    if judgement.events:
        lines += ["| state | test | effect | since | tests | changed there |", "|---|---|---|---|---|---|"]
        for event in judgement.events:
            worst = event.findings[0]
            changed = "; ".join(describe_differences(worst.changed)).replace("|", "\\|") or "-"
            row = (worst.state, worst.series.short, effect_of(worst), worst.since or "-", len(event.findings), changed)
            lines.append(f"| {' | '.join(map(str, row))} |")
    lines += [f"- refused: {one}" for one in judgement.refused]
    return lines


def history_lines(rows: Iterable[tuple[str, float, Sequence[float], str, Sequence[str]]]) -> list[str]:
    """(night, MiB/s, repetitions, state, changed facts) of one series, oldest first."""
    lines = [f"{'night':<26}{'MiB/s':>10}  {'least':>9}  {'most':>9}  state"]
    for night, rate, repetitions, state, changed in rows:
        low, high = (min(repetitions), max(repetitions)) if repetitions else (math.nan, math.nan)
        lines += [f"  {one}" for one in changed]
        lines.append(f"{night:<26}{rate:>10.1f}  {low:>9.1f}  {high:>9.1f}  {state}")
    return lines


def _changed(finding: Finding) -> str:
    told = describe_differences(finding.changed)
    if not told:
        return ""
    more = f" and {len(told) - MOST_FACTS} more" if len(told) > MOST_FACTS else ""
    return f"; changed there: {'; '.join(told[:MOST_FACTS])}{more}"


def _rate(value: float) -> str:
    return f"{value:.0f} MiB/s" if value >= 10 else f"{value:.2f} MiB/s"
