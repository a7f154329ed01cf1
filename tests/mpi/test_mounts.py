"""A filesystem that is full, and one that is read-only: told once on root before any I/O, nothing left behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.mpi.jobs import run_pytest

CASE = """
from pytest_pario.model import Pattern
from pytest_pario.patterns import Segmented

def test_it(pario):
    pario.run(Pattern("plain", Segmented(1 << 20, (1 << 18,) * 4), pointer="explicit"), "write", rounds=1)
"""

Mount = Callable[[str], Path]


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Mount a small tmpfs; needs root and the right to mount."""
    if os.geteuid():
        pytest.skip("needs root to mount a small filesystem")
    made: list[Path] = []

    def make(options: str) -> Path:
        path = tmp_path / "mounted"
        path.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", path], capture_output=True, check=False)
        if done.returncode:
            pytest.skip(f"cannot mount here: {done.stderr.decode().strip()}")
        made.append(path)
        return path

    yield make
    for path in made:
        subprocess.run(["umount", path], check=True)


@pytest.mark.rootonly
def test_a_filesystem_with_too_little_room(mount: Mount, tmp_path: Path) -> None:  # GEN-16
    directory = mount("size=1m")
    (tmp_path / "test_it.py").write_text(CASE)
    job = run_pytest(2, "test_it.py", "--pario-dir", str(directory), "-q", directory=tmp_path)
    assert job.status == 1
    told = "plain needs 2 MiB in"
    assert job.output.count(told) >= 1, job.output
    assert job.counts() == {"failed": 1}
    assert "free: use a smaller profile or another --pario-dir" in job.output
    assert list(directory.iterdir()) == []


@pytest.mark.rootonly
def test_a_read_only_filesystem(mount: Mount, tmp_path: Path) -> None:  # ERR-01: refused once, before any I/O
    directory = mount("size=1m,ro")
    (tmp_path / "test_it.py").write_text(CASE)
    job = run_pytest(2, "test_it.py", "--pario-dir", str(directory), "-q", directory=tmp_path)
    assert job.status == 4
    assert job.output.count("a directory in which files can be made; here: Read-only file system") == 1, job.output
