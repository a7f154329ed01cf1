"""One test, one outcome: what the ranks report of a phase, merged. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pytest_pario.session.ranks import name_ranks
from pytest_pario.session.wire import TEXT_LIMIT, cut_text

IDLE = "idle"
"""Outcome of a rank that takes no part in a test."""

ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


@dataclass(frozen=True)
class RankOutcome:
    """What one rank says of one phase (setup, call, teardown) of a test; plain data that crosses the wire."""

    rank: int
    outcome: str
    """`passed`, `failed`, `skipped` or `idle`."""
    text: str = ""
    """Traceback or skip reason."""
    crash: tuple[str, int, str] | None = None
    """File, line and message of the failure's last entry."""
    xfail: str | None = None
    """Reason of an expected failure; with outcome `passed` it is an unexpected pass."""
    xpass_strict: bool = False
    """Failed only because it passed although strictly expected to fail."""
    follow_on: bool = False
    """Failed only because another rank did (RemoteTaskError)."""
    sections: list[tuple[str, str]] = field(default_factory=list)
    """Captured output of this phase."""
    subtests: int = 0
    """How many subtests this rank had in this phase."""

    def within(self, budget_bytes: int) -> RankOutcome:
        """The same with texts cut so that its message stays below a budget; root gets those of all ranks in one."""
        limit, cut = TEXT_LIMIT, self
        while (self.text or self.sections) and len(json.dumps(cut.to_wire())) > budget_bytes and limit:
            limit //= 2
            sections = [(name, cut_text(output, limit)) for name, output in self.sections]
            crash = self.crash and (self.crash[0], self.crash[1], cut_text(self.crash[2], limit))
            # beyond all measure: many sections
            cut = replace(self, text=cut_text(self.text, limit), crash=crash, sections=sections if limit else [])
        return cut

    def to_wire(self) -> dict[str, Any]:
        """Plain data for the hub; defaults are left out, for most messages are `passed`."""
        told = {name: value for name, value in asdict(self).items() if value or name in ("rank", "outcome")}
        return told if self.xfail is None else {**told, "xfail": self.xfail}  # the reason may be empty

    @classmethod
    def from_wire(cls, data: dict[str, Any]) -> RankOutcome:
        """Inverse of `to_wire`."""
        crash = data.get("crash")
        sections = [(str(name), str(text)) for name, text in data.get("sections", [])]
        return cls(**{**data, "crash": tuple(crash) if crash else None, "sections": sections})


@dataclass(frozen=True)
class Merged:
    """The one outcome of a phase over all ranks."""

    outcome: str
    xfail: str | None = None
    crash: tuple[str, int, str] | None = None
    parts: tuple[tuple[str, str], ...] = ()
    """(headline, text) of each distinct failure, in order of its first rank."""


def merge(outcomes: Sequence[RankOutcome], size: int | None = None) -> Merged:
    """Fail if any rank failed; demand that skips are common; an expected failure of one is one of the test.

    `size` is the number of ranks where not all of them have reported.
    """
    size = size or len(outcomes)
    active = [one for one in outcomes if one.outcome != IDLE]
    failed = [one for one in active if one.outcome == "failed" and not one.xpass_strict]
    xpassed = [one for one in active if one.xpass_strict or (one.outcome == "passed" and one.xfail is not None)]
    xfailed = [one for one in active if one.outcome == "skipped" and one.xfail is not None]
    skipped = [one for one in active if one.outcome == "skipped" and one.xfail is None]
    if failed:
        return _merge_failures(failed, size)
    if len({one.subtests for one in active}) > 1:
        return _refuse_uneven_subtests(active)
    if skipped:
        return _merge_skips(skipped, active)
    if xfailed:
        return Merged("skipped", xfailed[0].xfail, None, _distinct(xfailed, size))
    if xpassed:
        strict = [one for one in xpassed if one.xpass_strict]
        first = (strict or xpassed)[0]
        return Merged("failed" if strict else "passed", first.xfail, first.crash, _distinct(strict, size))
    return Merged("passed")


def _merge_failures(failed: list[RankOutcome], size: int) -> Merged:
    # a rank that only heard of a failure elsewhere is not shown beside those that met it
    primary = [one for one in failed if not one.follow_on] or failed
    first = next((one for one in primary if one.crash), primary[0])
    crash = first.crash
    if crash and size > 1:
        crash = (crash[0], crash[1], f"{name_ranks(one.rank for one in primary)} of {size}: {crash[2]}")
    return Merged("failed", None, crash, _distinct(primary, size))


def _refuse_uneven_subtests(active: list[RankOutcome]) -> Merged:
    by_count: dict[int, list[int]] = {}
    for one in active:
        by_count.setdefault(one.subtests, []).append(one.rank)
    told = ", ".join(f"{name_ranks(ranks)} had {count}" for count, ranks in by_count.items())
    sentence = f"ranks disagree about the number of subtests: {told}; have the same subtests on all ranks"
    return Merged("failed", None, ("", 0, sentence), (("", sentence),))


def _merge_skips(skipped: list[RankOutcome], active: list[RankOutcome]) -> Merged:
    if len(skipped) == len(active):
        reasons = list(dict.fromkeys(one.text for one in skipped))
        return Merged("skipped", None, skipped[0].crash, (("", "; ".join(reasons)),))
    others = [one for one in active if one not in skipped]
    reason = skipped[0].crash[2] if skipped[0].crash else skipped[0].text
    sentence = (
        f"ranks disagree: {name_ranks(one.rank for one in skipped)} skipped ({reason}), "
        f"{name_ranks(one.rank for one in others)} did not; skip on all ranks or on none"
    )
    place = skipped[0].crash or ("", 0, "")
    return Merged("failed", None, (place[0], place[1], sentence), (("", sentence),))


def _distinct(outcomes: Sequence[RankOutcome], size: int) -> tuple[tuple[str, str], ...]:
    """Each distinct text once, headed by its ranks; addresses do not make texts distinct."""
    groups: dict[str, list[RankOutcome]] = {}
    for one in outcomes:
        groups.setdefault(ADDRESS.sub("0x", one.text), []).append(one)
    return tuple(
        (f"{name_ranks(one.rank for one in same)} of {size}" if size > 1 else "", same[0].text)
        for same in groups.values()
    )
