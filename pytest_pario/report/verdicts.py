"""Verdicts as sentences, terminal lines and Markdown; worst first, one line per event."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pytest_pario.baseline.judge import SEVERITY, Event, Finding, Judgement
from pytest_pario.model import Verdict
from pytest_pario.report.fingerprint import describe_differences

MOST_FACTS = 3
"""Changed facts that a sentence names; the rest is counted."""
MOST_NAMES = 3
"""Series that a line names; the rest is counted."""


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
        return f"{text}, yellow: {_yellow(finding)}"
    if finding.since:
        text += f" since {finding.since}, {finding.nights} night{'s' if finding.nights > 1 else ''}"
    if finding.by_group:
        text += f", with its whole group ({finding.series.group})"
    return text + _changed(finding) + (f"; stands: {finding.reason}" if finding.reason else "")


def _yellow(finding: Finding) -> str:
    """Since how many nights it is low, and what a second measurement said; no more is claimed of one night."""
    lasted = "low tonight" if finding.nights <= 1 else f"low for {finding.nights} nights"
    again = f"again: {_rate(finding.again)}" if math.isfinite(finding.again) else "not measured again"
    return f"{lasted}; {again}"


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
    """One line of an event: its worst test, and which others."""
    others = [one.series.short for one in event.findings[1:]]
    more = f"; and {len(others)} other{'s' if len(others) > 1 else ''} of {event.group}: {_some(others)}"
    return sentence_of(event.findings[0]) + (more if others else "")


def summary_line(judgement: Judgement) -> str:
    """Counts of all states."""
    counts = {state: sum(one.state == state for one in judgement.findings) for state in SEVERITY}
    parts = [f"{len(judgement.failures)} failed"] if judgement.failures else []
    parts += [f"{count} {state}" for state, count in counts.items() if count]
    told = ", ".join(parts) or "nothing measured"
    night = judgement.night.date if judgement.night else "no night"
    return f"{night}: {told}"


def terminal_lines(judgement: Judgement, verbose: bool = False) -> list[str]:
    """Refused files, events, yellow and improved tests, then counts; `verbose` has every test."""
    lines = _about_the_night(judgement)
    lines += [
        f"REGRESSED {event_line(event)}" if event.findings[0].state == "regressed" else event_line(event)
        for event in judgement.events
    ]
    lines += [f"FAILED {one.fullname}: {one.sentence}" for one in judgement.failures]
    shown = SEVERITY if verbose else ("yellow", "improved", "accepted")
    together = () if verbose else group_gains(judgement)
    told = {one.series for event in together for one in event.findings}
    lines += [
        sentence_of(one)
        for state in shown
        for one in judgement.findings
        if one.state == state and state not in ("regressed", "damaged") and one.series not in told
    ]
    lines += [event_line(event) for event in together]
    lines += [] if verbose else _unjudged_lines(judgement.findings)
    if judgement.absent:
        names = [one.short for one in judgement.absent]
        lines.append(f"{len(names)} series of the nights before were not measured tonight: {_some(names)}")
    return [*lines, summary_line(judgement)]


def _about_the_night(judgement: Judgement) -> list[str]:
    """What limits all that is said below."""
    lines = [f"refused: {one}" for one in judgement.refused]
    if judgement.unread:
        lines.append("the newest night could not be read: what follows is of an older one")
    if judgement.apart:
        told = "measured the same series as another test and are kept apart by their names, each with its own history"
        lines.append(f"{len(judgement.apart)} tests {told}: {_some(judgement.apart)}")
    for group, tests in judgement.small:
        told = (
            f"only {tests} test{'s' if tests > 1 else ''}: three or more would tell a slow filesystem from a slow test"
        )
        lines.append(f"{group} has {told}")
    return lines + [f"rule of this site: {one}" for one in judgement.site_rules]


def _unjudged_lines(findings: Sequence[Finding]) -> list[str]:
    learning = [one.missing for one in findings if one.state == "learning" and one.missing]
    lines = []
    if learning:
        lines.append(
            f"{len(learning)} test{'s are' if len(learning) > 1 else ' is'} learning; "
            f"the last one is judged in {max(learning)} night{'s' if max(learning) > 1 else ''}"
        )
    reasons = [one for one in findings if one.state == "learning" and not one.missing]
    for reason in dict.fromkeys(one.reason for one in reasons):
        names = [one.series.short for one in reasons if one.reason == reason]
        lines.append(f"{len(names)} not judged: {reason}: {_some(names)}")
    return lines


def group_gains(judgement: Judgement) -> tuple[Event, ...]:
    """Groups that improved as a whole, each as one event."""
    groups: dict[str, list[Finding]] = {}
    for one in judgement.findings:
        if one.state == "improved" and one.by_group:
            groups.setdefault(one.series.group, []).append(one)
    return tuple(Event(name, tuple(sorted(some, key=lambda one: -one.effect))) for name, some in groups.items())


def _some(names: Sequence[str]) -> str:
    """The first names, and how many more."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def markdown_lines(judgement: Judgement) -> list[str]:
    """A table with one line per event, worst first."""
    lines = [f"### {summary_line(judgement)}", ""]
    if judgement.events:
        lines += ["| state | test | others | effect | since | what is known |", "|---|---|---|---|---|---|"]
        lines += [f"| {' | '.join(_cell(one) for one in _event_row(event))} |" for event in judgement.events]
    lines += [f"- failed: {one.fullname}: {one.sentence}".replace("|", "\\|") for one in judgement.failures]
    if judgement.absent:
        lines.append(f"- not measured tonight: {_some([one.short for one in judgement.absent])}")
    return lines + [f"- {one}" for one in _about_the_night(judgement)]


def _event_row(event: Event) -> tuple[str, ...]:
    """State, worst test, the others, effect, since, and what else its sentence says."""
    worst, others = event.findings[0], [one.series.short for one in event.findings[1:]]
    known = [worst.damage] if worst.damage else []
    known += [f"stands since {worst.since}: {worst.reason}"] if worst.reason else []
    known += ["with its whole group"] if worst.by_group else []
    known += _facts(worst)
    others_told = f"{len(others)}: {_some(others)}" if others else ""
    effect = effect_of(worst) if math.isfinite(worst.effect) else ""
    return worst.state, worst.series.short, others_told, effect, worst.since, "; ".join(known)


def _cell(text: str) -> str:
    """A cell of a table: on one line, and without the sign that would end it."""
    return " ".join(text.split()).replace("|", "\\|") or "-"


def history_lines(rows: Iterable[tuple[str, float, Sequence[float], str, Sequence[str]]]) -> list[str]:
    """(night, MiB/s, repetitions, state, changed facts) of one series, oldest first."""
    lines = [f"{'night':<26}{'MiB/s':>10}  {'least':>9}  {'most':>9}  state"]
    for night, rate, repetitions, state, changed in rows:
        low, high = (min(repetitions), max(repetitions)) if repetitions else (math.nan, math.nan)
        lines += [f"  {one}" for one in changed]
        lines.append(f"{night:<26}{rate:>10.1f}  {low:>9.1f}  {high:>9.1f}  {state}")
    return lines


def _changed(finding: Finding) -> str:
    told = _facts(finding)
    return f"; changed there: {'; '.join(told)}" if told else ""


def _facts(finding: Finding) -> list[str]:
    """The first facts that changed there, and how many more."""
    told = describe_differences(finding.changed)
    more = [f"and {len(told) - MOST_FACTS} more"] if len(told) > MOST_FACTS else []
    return [*told[:MOST_FACTS], *more]


def _rate(value: float) -> str:
    return f"{value:.0f} MiB/s" if value >= 10 else f"{value:.2f} MiB/s"
