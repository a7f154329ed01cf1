"""Which requirements of the specification no test cites: `python -m tests.requirements [GROUP ...]`.

A test cites a requirement by its id in a comment (`# GPFS-49`); `CONS-10..24` cites a range.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
GROUPS = {"GEN": 19, "BEFF": 68, "CONS": 75, "GPFS": 58, "RES": 41, "ERR": 13, "MODEL": 12, "ENV": 25, "SIM": 15}
"""Ids of a group run from 1 to this number."""

CITED = re.compile(rf"\b({'|'.join(GROUPS)})-(\d+)(?:\.\.(\d+))?")


def cited_in(text: str) -> set[str]:
    """Ids that a text names."""
    found = set()
    for group, first, last in CITED.findall(text):
        found |= {f"{group}-{number:02}" for number in range(int(first), int(last or first) + 1)}
    return found


def cited_by(folders: Iterable[str]) -> set[str]:
    """Ids that the Python files of some folders name."""
    files = (file for folder in folders for file in (ROOT / folder).rglob("*.py"))
    return {one for file in files if file != Path(__file__) for one in cited_in(file.read_text())}


def explained() -> set[str]:
    """Ids whose absence is explained in docs/known-limitations.md."""
    return cited_in((ROOT / "docs" / "known-limitations.md").read_text())


def open_ids(groups: Iterable[str] = GROUPS) -> list[str]:
    """Ids that no test or suite cites and no page explains."""
    closed = cited_by(["tests", "suites"]) | explained()
    wanted = [f"{group}-{number:02}" for group in groups for number in range(1, GROUPS[group] + 1)]
    return [one for one in wanted if one not in closed]


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(GROUPS)
    sys.stdout.write("\n".join(open_ids(chosen)) + "\n")
