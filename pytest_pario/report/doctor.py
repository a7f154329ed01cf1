"""The doctor's page: one screen. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_pario.environment.fingerprint import Json
from pytest_pario.report.fingerprint import describe

WIDTH = 110
MARKS = {"yes": "ok", "no": "NO", "unknown": "??"}


URGENT = ("MPI", "create", "collective", "space", "shared pointer", "atomic", "locks", "fsync", "evict")
"""What is worth doing something about, most urgent first; what else is missing only leaves tests out."""


class Finding(Protocol):
    """A capability as `environment.capabilities` has it."""

    @property
    def name(self) -> str:
        """What was looked at."""

    @property
    def state(self) -> str:
        """`yes`, `no` or `unknown`."""

    @property
    def detail(self) -> str:
        """What was found."""

    @property
    def cure(self) -> str:
        """What to do about it."""

    @property
    def is_grave(self) -> bool:
        """Whether data came back wrong."""


@dataclass(frozen=True)
class Diagnosis:
    """Everything that the doctor found."""

    directory: str
    facts: Mapping[str, Json]
    findings: Sequence[Finding]
    consequences: Sequence[str] = ()
    """Tests that do not run here as they would elsewhere, with the reason."""

    @property
    def healthy(self) -> bool:
        """Whether suites can run and be trusted: MPI starts, files can be made, bytes come back right."""
        runs = all(one.state != "no" for one in self.findings if one.name in ("MPI", "create", "collective"))
        return runs and not any(one.is_grave for one in self.findings)

    @property
    def summary(self) -> str:
        """The last line: that all is fine, or what to do first."""
        wrong = [one for one in self.findings if one.state == "no" and (one.is_grave or one.name in URGENT)]
        if not wrong:
            return "fine"
        first = min(wrong, key=lambda one: (not one.is_grave, URGENT.index(one.name) if one.name in URGENT else 0))
        return f"first: {first.cure or first.detail} ({first.name})"

    @property
    def lines(self) -> list[str]:
        """The page."""
        page = [f"pario doctor: {self.directory}", "", *describe(self.facts), ""]
        width = max((len(one.name) for one in self.findings), default=0)
        for one in self.findings:
            head = f"{MARKS[one.state]}  {one.name:<{width}}  "
            page += textwrap.wrap(one.detail or "-", WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
            if one.cure and one.state != "yes":
                page += textwrap.wrap(
                    one.cure, WIDTH, initial_indent=" " * len(head) + "-> ", subsequent_indent=" " * (len(head) + 3)
                )
        for number, line in enumerate(self.consequences):
            head = "in the suites  " if not number else " " * 15
            page += textwrap.wrap(line, WIDTH, initial_indent=head, subsequent_indent=" " * 17)
        return [*page, "", self.summary]
