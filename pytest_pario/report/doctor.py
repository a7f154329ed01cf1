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


@dataclass(frozen=True)
class Diagnosis:
    """Everything that the doctor found."""

    directory: str
    facts: Mapping[str, Json]
    findings: Sequence[Finding]

    @property
    def healthy(self) -> bool:
        """Whether suites can run at all: files can be made and MPI starts."""
        return all(one.state != "no" for one in self.findings if one.name in ("MPI", "create"))

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
        return page
