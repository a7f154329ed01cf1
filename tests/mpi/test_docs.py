"""Every console command in README and docs is run, in a scratch directory with the files that the page shows."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.mpi.jobs import launcher, run_command

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(?:<!-- (?P<note>[^\n]*?) -->\n)?```(?P<language>\w*)\n(?P<body>.*?)```", re.DOTALL)


@dataclass
class Page:
    """Files and commands of a page, in order."""

    files: dict[str, str] = field(default_factory=dict)
    commands: list[tuple[str, str]] = field(default_factory=list)
    """(note, command)."""


def read_page(path: Path) -> Page:
    page = Page()
    for match in BLOCK.finditer(path.read_text()):
        note = match["note"] or ""
        if note.startswith("file: "):
            page.files[note.removeprefix("file: ")] = match["body"]
        elif match["language"] == "console" and not note.startswith("setup: "):
            page.commands += [(note, line[2:]) for line in match["body"].splitlines() if line.startswith("$ ")]
    return page


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_commands_of_a_page(path: Path, tmp_path: Path) -> None:
    page = read_page(path)
    for name, text in page.files.items():
        (tmp_path / name).write_text(text)
    start = launcher(1)
    environment = {**start.environment, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for note, command in page.commands:
        job = run_command(["bash", "-c", command], tmp_path, environment, limit_s=400)
        expected = {"exits 1": {1}, "exits non-zero": set(range(1, 256))}.get(note, {0})
        assert job.status in expected, f"{command}\n{job.output}"


def test_the_readme_has_its_two_commands() -> None:
    notes = re.findall(r"<!-- setup: (\w+) -->\n```console\n\$ python3 -m venv", (ROOT / "README.md").read_text())
    assert notes == ["run", "test"]


def test_the_failure_shown_in_the_readme_is_what_is_printed(tmp_path: Path) -> None:
    page = read_page(ROOT / "README.md")
    (tmp_path / "test_ring.py").write_text(page.files["test_ring.py"])
    start = launcher(4)
    command = [*start.command, sys.executable, "-m", "pytest", "--with-mpi", "-q", "--pario-grace", "1", "test_ring.py"]
    job = run_command(command, tmp_path, start.environment)
    assert "FAILED test_ring.py::test_ring - rank 2 of 4: OSError: disk quota exceeded" in job.output
    assert "rank 2 failed in test_ring.py::test_ring [call] and the others did not follow" in job.output
