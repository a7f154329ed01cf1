"""A failure of several ranks as pytest prints it: each distinct text once, headed by its ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from pytest_pario.session.outcome import RankOutcome, merge


class RanksRepr(TerminalRepr):
    """Stands where pytest has the representation of an exception; `reprcrash` feeds summary line and junit."""

    def __init__(self, parts: Sequence[tuple[str, str]], crash: tuple[str, int, str] | None) -> None:
        """Take (headline, text) pairs and the place of the first failure."""
        self.parts = list(parts)
        self.reprcrash = ReprFileLocation(crash[0], crash[1], crash[2]) if crash else None

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write as pytest would write a traceback."""
        for headline, text in self.parts:
            if headline:
                tw.sep("-", headline, bold=True)
            for line in text.splitlines():
                error = line.startswith("E ")
                tw.line(line, red=error, bold=error)


def report_phase(story: Mapping[str, Any]) -> str:
    """Phase of a test in which a job ended; pytest knows three."""
    return story["phase"] if story.get("phase") in ("setup", "call", "teardown") else "call"


def abort_report(
    item: pytest.Item, story: Mapping[str, Any], size: int, captured: Sequence[tuple[str, str]] = ()
) -> pytest.TestReport:
    """Failed report of the test that a job ended in: what ranks said, who was where, and their stacks."""
    told = [RankOutcome.from_wire(one) for one in story["failures"]]
    merged = merge([one for one in told if one.outcome == "failed"], size)
    parts = [*merged.parts, ("watchdog" if merged.parts else "", f"E   {story['diagnosis']}")]
    parts += [(name, story[name]) for name in ("stacks", "output") if story.get(name)]
    path, line, _ = item.location
    longrepr: Any = RanksRepr(parts, merged.crash or (path, (line or 0) + 1, story["diagnosis"]))
    phase: Any = report_phase(story)
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords=dict.fromkeys(item.keywords, 1),
        outcome="failed",
        longrepr=longrepr,
        when=phase,
        sections=[
            *((f"Captured {name} {phase} [rank 0]", text) for name, text in captured if text),
            *((f"{name} [rank {one.rank}]", text) for one in told for name, text in one.sections),
        ],
    )
