"""The last night as one HTML page that needs nothing else: what is wrong first, then every series with its nights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from pytest_pario.baseline.judge import SEVERITY, Finding, Judgement
from pytest_pario.baseline.series import Series
from pytest_pario.report.fingerprint import describe_differences
from pytest_pario.report.verdicts import MOST_FACTS, effect_of, event_line, sentence_of, summary_line

Nights = Sequence[tuple[str, float]]
"""Date and MiB/s of each night, oldest first; NaN where nothing is known."""

WIDTH, HEIGHT, PAD = 180, 36, 3
BAD = ("damaged", "regressed")

STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --paper: #fff; --soft: #667; --line: #d8dce0;
  --bad: #b3261e; --warn: #8a6100; --good: #1a6e36; --spark: #3867b0 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --paper: #16181b; --soft: #9aa3ad; --line: #33383e;
  --bad: #ff8a80; --warn: #f0c05a; --good: #7ad19a; --spark: #8ab4f8 } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 2rem auto; max-width: 76rem; padding: 0 1rem }
h1 { font-size: 1.35rem; margin: 0 0 .2rem } h2 { font-size: 1.05rem; margin: 1.6rem 0 .4rem }
.verdict { font-weight: 600; padding: .5rem .8rem; border-left: .35rem solid var(--good) }
.verdict.bad { border-color: var(--bad) } .verdict.none { border-color: var(--warn) }
li { margin: .25rem 0 } .soft { color: var(--soft) }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: middle }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.state { font-weight: 600 } .damaged, .regressed { color: var(--bad) } .yellow, .blind { color: var(--warn) }
.improved { color: var(--good) }
svg polyline { fill: none; stroke: var(--spark); stroke-width: 1.4 }
svg circle { fill: var(--spark) } svg line { stroke: var(--soft); stroke-dasharray: 3 3 }
"""


def page(machine: str, judgement: Judgement, histories: Mapping[Series, Nights]) -> str:
    """The whole page."""
    findings = sorted(judgement.findings, key=lambda one: (SEVERITY.index(one.state), str(one.series)))
    rows = "\n".join(_row(one, histories.get(one.series, ())) for one in findings)
    night = judgement.night.date if judgement.night else "no night"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(machine)} {escape(night)}</title><style>{STYLE}</style></head><body>
<h1>{escape(machine)}</h1>
<p class="verdict {_class_of(judgement)}">{escape("; ".join([*_limits(judgement), summary_line(judgement)]))}</p>
{_problems(judgement)}
<h2>Series</h2>
<div class="scroll"><table>
<tr><th>series</th><th>state</th><th>MiB/s</th><th>baseline</th><th>effect [90 %]</th><th>nights</th></tr>
{rows}
</table></div>
<p class="soft">MiB/s of the slowest rank, median of a night. Broken line: baseline; dot: last night.</p>
</body></html>
"""


def _class_of(judgement: Judgement) -> str:
    """As `pario check` has it: green only where something was judged, and nothing failed or could not be read."""
    if judgement.failures or any(one.state in BAD for one in judgement.findings):
        return "bad"
    return "good" if judgement.judged and not judgement.unread else "none"


def _limits(judgement: Judgement) -> list[str]:
    return ["the newest night could not be read: this is an older one"] if judgement.unread else []


def _problems(judgement: Judgement) -> str:
    """What an operator has to act on: events, worst first, and files that could not be read."""
    lines = [f"<li>{escape(event_line(event))}{_facts(event.findings[0])}</li>" for event in judgement.events]
    lines += [f"<li>failed: {escape(one.fullname)}: {escape(one.sentence)}</li>" for one in judgement.failures]
    lines += [f"<li>{escape(sentence_of(one))}</li>" for one in judgement.findings if one.state == "yellow"]
    lines += [f"<li>refused: {escape(one)}</li>" for one in judgement.refused]
    lines += [f"<li>not measured on this night: {escape(str(one))}</li>" for one in judgement.absent]
    lines += [f"<li>rule of this site: {escape(one)}</li>" for one in judgement.site_rules]
    return f"<h2>To look at</h2><ul>{''.join(lines)}</ul>" if lines else ""


def _facts(finding: Finding) -> str:
    """The facts that changed there beyond those that the sentence names."""
    told = describe_differences(finding.changed)[MOST_FACTS:]
    return "".join(f"<br><span class='soft'>{escape(one)}</span>" for one in told)


def _row(finding: Finding, nights: Nights) -> str:
    title = escape(sentence_of(finding), quote=True)
    return (
        f'<tr title="{title}"><td>{escape(str(finding.series))}</td>'
        f'<td class="state {finding.state}">{finding.state}</td>'
        f'<td class="number">{_rate(finding.rate)}</td><td class="number">{_rate(finding.baseline)}</td>'
        f'<td class="number">{escape(effect_of(finding)) if math.isfinite(finding.effect) else "–"}</td>'
        f"<td>{sparkline([rate for _, rate in nights], finding.baseline)}</td></tr>"
    )


def _rate(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "–"


def sparkline(rates: Sequence[float], baseline: float = math.nan) -> str:
    """A small curve from 0 to the largest rate; gaps where a night is missing, a dot at the last one."""
    known = [rate for rate in (*rates, baseline) if math.isfinite(rate)]
    if not known:
        return ""
    top = max(known) or 1.0
    step = (WIDTH - 2 * PAD) / max(1, len(rates) - 1)

    def y(rate: float) -> float:
        return HEIGHT - PAD - rate / top * (HEIGHT - 2 * PAD)

    parts: list[list[tuple[float, float]]] = [[]]
    for number, rate in enumerate(rates):
        if math.isfinite(rate):
            parts[-1].append((PAD + number * step, y(rate)))
        elif parts[-1]:
            parts.append([])
    curves = "".join(
        f'<polyline points="{" ".join(f"{x:.1f},{height:.1f}" for x, height in part)}"/>' for part in parts if part
    )
    line = ""
    if math.isfinite(baseline):
        line = f'<line x1="{PAD}" x2="{WIDTH - PAD}" y1="{y(baseline):.1f}" y2="{y(baseline):.1f}"/>'
    last = [part for part in parts if part]
    dot = f'<circle cx="{last[-1][-1][0]:.1f}" cy="{last[-1][-1][1]:.1f}" r="2.4"/>' if last else ""
    return f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="rates">{line}{curves}{dot}</svg>'
