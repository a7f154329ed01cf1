"""Names below a folder: exactly those that should be there (CONS-74)."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from pytest_pario.errors import VerificationError

SHOWN = 5
"""Names that an error lists of each kind."""


def check_names(row: str, top: Path, expected: Collection[str], moment: str) -> None:
    """Refuse files that are missing below `top`, and files that should not be there."""
    wanted, found = set(expected), set(list_files(top))
    problems = [
        f"{len(names)} {word}: {_some(names)}"
        for names, word in ((wanted - found, "missing"), (found - wanted, "that should not be there"))
        if names
    ]
    if problems:
        raise VerificationError(row, f"{top}: {moment} {len(wanted)} files should exist; {'; '.join(problems)}")


def list_files(top: Path) -> Iterator[str]:
    """Names of all files below `top`, relative to it; links are not followed."""
    for folder, _, files in os.walk(top):
        for name in files:
            yield os.path.relpath(Path(folder, name), top)


def _some(names: Collection[str]) -> str:
    more = ", …" if len(names) > SHOWN else ""
    return ", ".join(sorted(names)[:SHOWN]) + more
