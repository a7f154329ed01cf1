"""What makes two measurements comparable: the identity of a series. Unlike things are never in one series.

The fingerprint is no part of it: it annotates a series and never splits it, because the comparison across a change of
client, MPI, mount options, stripe or kernel is what a history is for.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pytest_pario.units import MiB, format_bytes

Entry: TypeAlias = Mapping[str, Any]
"""One benchmark of a pytest-benchmark file."""

CLASS_KEYS = ("definition", "schedule", "release", "variant", "mode", "label", "case", "measurement")
"""Words under extra_info that tell unlike measurements apart, such as definitions of b_eff_io (BEFF-67)."""
MANNERS = {
    "intra_barriers": "barriers between calls",
    "call_barriers": "a barrier before each call",
    "direct": "direct",
}
"""Facts of a run that make it unlike others of the same row; which loop made the calls is an annotation."""
HINTS, HINT = "hints", "hint."
"""The fact that hints were recorded at all, and what the name of each one's value begins with."""
PASS = "pario_pass"  # noqa: S105 - no secret
"""Begins the id that `--pario-passes` gives a test: no word that a suite would choose for ids of its own."""
PASS_SUFFIX = re.compile(rf"(?:-{PASS}\d+(?=[\]-])|(?<=\[){PASS}\d+(?:-|(?=\])))")


@dataclass(frozen=True, order=True)
class Series:
    """Identity of a series; one row of every table."""

    pattern: str
    """Name and digest of the pattern's parameters, or the test's name where there is no record."""
    phase: str
    """write, rewrite or read; empty where there is none."""
    moved_bytes: int
    """Bytes of one repetition; 0 where they are what a given time allowed, and so differ from night to night."""
    ranks: int
    ranks_per_node: str
    filesystem: str
    """Type and mount point."""
    kind: str
    """Class of the measurement: sustained or cached, replay or solved, definition (CONS-49, BEFF-67)."""

    @property
    def direction(self) -> str:
        """Whether bytes go to the file or come from it; tests of one filesystem and direction control each other."""
        return "read" if self.phase == "read" else "write"

    @property
    def group(self) -> str:
        """Name of the group of peers."""
        return f"{self.filesystem or 'unknown filesystem'} {self.direction}"

    @property
    def name(self) -> str:
        """Name of the pattern without the digest of its parameters."""
        return self.pattern.split("@")[0]

    @property
    def short(self) -> str:
        """How a sentence names it."""
        return f"{self.name}{'/' + self.phase if self.phase else ''}"

    def __str__(self) -> str:
        layout = f"n={self.ranks}" + (f" ({self.ranks_per_node} a node)" if self.ranks_per_node else "")
        name = f"{self.pattern}{'/' + self.phase if self.phase else ''}"
        size = format_bytes(self.moved_bytes) if self.moved_bytes else "by time"
        return f"{name} {size} {layout} {self.filesystem or '-'} {self.kind}"


@dataclass(frozen=True)
class Sample:
    """What one night has of one series."""

    series: Series
    fullname: str
    """Of the test."""
    rates: tuple[float, ...]
    """MiB/s of each repetition; empty where no bytes moved."""
    facts: Mapping[str, Any]
    """Fingerprint, hints in force and loop, for annotation."""
    damaged: str = ""
    """What is wrong with the bytes, where something is."""
    again: tuple[float, ...] = ()
    """MiB/s of a measurement repeated at the end of the job; recorded beside the first, never instead of it."""

    @property
    def log_rate(self) -> float:
        """Logarithm of the median repetition; NaN where nothing can be said."""
        if not self.rates or self.damaged:
            return math.nan
        ordered = sorted(self.rates)
        middle = len(ordered) // 2
        value = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
        return math.log(value) if value > 0 else math.nan


def strip_pass(name: str) -> str:
    """The name of a test without the number of the pass over all tests that it belongs to."""
    return PASS_SUFFIX.sub("", name).replace("[]", "")


def read_entry(entry: Entry) -> Sample | None:
    """Series and rates of a benchmark; None where it holds no bytes, which is not ours to judge."""
    info = entry.get("extra_info") or {}
    moved, seconds = info.get("moved_bytes"), (entry.get("stats") or {}).get("data")
    if not isinstance(moved, Sequence) or not moved or not seconds:
        return None
    record: Mapping[str, Any] = info.get("record") or {}
    fingerprint: Mapping[str, Any] = record.get("fingerprint") or info.get("fingerprint") or {}
    pairs = [(int(b), float(s)) for b, s in zip(moved, seconds, strict=False)]
    usual = sorted(b for b, _ in pairs)[len(pairs) // 2]
    rates = tuple(b / s / MiB for b, s in pairs if b > 0 and s > 0)
    again_s = info.get("again_s") or ()
    again = zip(again_s, info.get("again_bytes") or [usual] * len(again_s), strict=False)
    series = Series(
        pattern=_pattern(entry, record),
        phase=str(record.get("phase") or info.get("phase") or ""),
        moved_bytes=0 if _is_timed(info, record) else usual,
        ranks=int(info.get("ranks", 1)),
        ranks_per_node=_words(fingerprint.get("ranks_per_node")),
        filesystem=_filesystem(fingerprint),
        kind=_kind(info, record),
    )
    damage = str(record.get("damage") or "") or ("" if rates else "no bytes were moved")
    return Sample(
        series,
        strip_pass(str(entry["fullname"])),
        rates,
        _facts(fingerprint, record),
        damage,
        tuple(int(b) / float(s) / MiB for s, b in again if float(s) > 0),
    )


def _pattern(entry: Entry, record: Mapping[str, Any]) -> str:
    pattern = record.get("pattern")
    if not isinstance(pattern, Mapping):
        return strip_pass(str(entry["fullname"]))
    # the same digest as Pattern.id
    text = json.dumps({**pattern, "name": "any"}, sort_keys=True)
    return f"{pattern['name']}@{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _is_timed(info: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    repeat = (record.get("pattern") or {}).get("repeat") or {}
    return bool(info.get("schedule")) or repeat.get("name", "fixed") != "fixed"


def _filesystem(fingerprint: Mapping[str, Any]) -> str:
    parts = [fingerprint.get("filesystem_type"), fingerprint.get("mount_point")]
    return ":".join(str(part) for part in parts if part)


def _kind(info: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    facts = record.get("facts") or {}
    words = []
    if record.get("phase") == "read":
        words.append("cached" if (facts.get("cache") or {}).get("state") == "cached" else "uncached")
    elif record:
        words.append("synced" if facts.get("synced") else "cached")
    words += [str(info[key]) for key in CLASS_KEYS if info.get(key)]
    words += _manner(record, facts)
    return ", ".join(words) or "rate"


def _manner(record: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """How the calls were made, where the row (whose fields are in its digest) does not say it."""
    strategy = str(facts.get("strategy") or "row")
    words = [] if strategy == "row" or (record.get("pattern") or {}).get("strategy") else [strategy]
    return words + [text for key, text in MANNERS.items() if facts.get(key)]


def _facts(fingerprint: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    facts = record.get("facts") or {}
    told = facts.get(HINTS) or {}
    hints = {**told.get("defaulted", {}), **told.get("changed", {}), **told.get("accepted", {})}
    found = {**fingerprint, **{f"{HINT}{key}": value for key, value in hints.items()}}
    if isinstance(facts.get(HINTS), Mapping):
        found[HINTS] = "recorded"
    return {**found, "loop": facts["loop"]} if "loop" in facts else found


def _words(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else "" if value is None else str(value)
