"""Which requirements of the specification no test shows: `python -m tests.requirements [GROUP ...]`.

A test cites a requirement by its id in a comment (`# GPFS-49`), in its own docstring, or as a value of its table;
`CONS-10..24` cites a range. What else is written, such as the docstring of a module or of a suite, shows nothing.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
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


def shown_in(source: str) -> set[str]:
    """Ids that the tests of a Python source cite, those of tests that it holds as a text among them."""
    return {one for text in _telling(source) for one in cited_in(text)}


def _telling(source: str) -> Iterator[str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    yield from (token.string for token in tokens if token.type == tokenize.COMMENT)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield ast.get_docstring(node) or ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _of_text(node.value)


def _of_text(text: str) -> Iterator[str]:
    """The id that a value is, or what the tests of a program cite."""
    if CITED.fullmatch(text):
        yield text
    elif "def test_" in text:
        # a part of a program need not parse by itself
        yield from re.findall(r"#.*", text)


def shown_by(folder: Path) -> set[str]:
    """Ids that the tests in a folder cite."""
    files = [file for file in folder.rglob("*.py") if file != Path(__file__)]
    return {one for file in files for one in shown_in(file.read_text())}


def explained() -> set[str]:
    """Ids whose absence is explained in docs/known-limitations.md."""
    return cited_in((ROOT / "docs" / "known-limitations.md").read_text())


def open_ids(groups: Iterable[str] = GROUPS) -> list[str]:
    """Ids that no test shows and no page explains."""
    closed = shown_by(ROOT / "tests") | explained()
    wanted = [f"{group}-{number:02}" for group in groups for number in range(1, GROUPS[group] + 1)]
    return [one for one in wanted if one not in closed]


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(GROUPS)
    sys.stdout.write("\n".join(open_ids(chosen)) + "\n")
