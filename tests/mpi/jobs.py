"""Start real jobs for tests: every one bounded in time, nothing left behind."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_pario.errors import SessionError
from pytest_pario.session.launcher import Launcher, find_launcher

CASES = Path(__file__).parent / "cases" / "session"
LIMIT_S = 240.0
ROOM_BYTES = 2 << 30


@dataclass(frozen=True)
class Job:
    """What a job left."""

    status: int
    output: str
    seconds: float

    def counts(self) -> dict[str, int]:
        """Outcomes in pytest's last line."""
        lines = [line for line in self.output.splitlines() if re.search(r" in [0-9.]+s\b", line)]
        found = re.findall(
            r"(\d+) (passed|failed|skipped|xfailed|xpassed|errors?|deselected)", lines[-1] if lines else ""
        )
        return {name.removesuffix("s") if name == "errors" else name: int(count) for count, name in found}


@contextlib.contextmanager
def fast_scratch(otherwise: Path) -> Iterator[Path]:
    """A directory in memory where there is room, for tests that look at bytes and not at speed; removed at the end."""
    memory = Path("/dev/shm")
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ROOM_BYTES
    place = memory if roomy else otherwise
    # a process of a killed job may still be writing its last line
    with tempfile.TemporaryDirectory(prefix="pario-test-", dir=place, ignore_cleanup_errors=True) as made:
        yield Path(made)


def launcher(ranks: int) -> Launcher:
    """The MPI of this environment; without one the test is skipped with the reason."""
    try:
        return find_launcher(None, ranks)
    except SessionError as error:
        pytest.skip(f"needs an MPI library: {error}")


def run_command(command: Sequence[str], directory: Path, environment: dict[str, str], limit_s: float = LIMIT_S) -> Job:
    """Run to the end, or fail the test; the whole process group is killed on expiry."""
    begun = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=directory,
        env={**os.environ, "COLUMNS": "250", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        pytest.fail(f"job did not end within {limit_s} s: {command}\n{output.decode(errors='replace')[-3000:]}")
    return Job(process.returncode, strip_colour(output.decode(errors="replace")), time.monotonic() - begun)


def run_pytest(
    ranks: int, *arguments: str, directory: Path, environment: dict[str, str] | None = None, limit_s: float = LIMIT_S
) -> Job:
    """`mpiexec -n RANKS python -m pytest --with-mpi ARGUMENTS` in `directory`."""
    start = launcher(ranks)
    command = [*start.command, sys.executable, "-m", "pytest", "--with-mpi", "-p", "no:cacheprovider", *arguments]
    return run_command(command, directory, {**start.environment, **(environment or {})}, limit_s)


def run_pario(*arguments: str, directory: Path, limit_s: float = LIMIT_S) -> Job:
    """`pario ARGUMENTS` in `directory`."""
    launcher(1)
    return run_command([sys.executable, "-m", "pytest_pario.cli", *arguments], directory, {}, limit_s)


def strip_colour(text: str) -> str:
    """Open MPI gives its ranks a terminal, so pytest colours."""
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", text).replace("\r\n", "\n")


def hub_processes(directory: Path, limit_s: float = 10.0) -> list[str]:
    """Hubs that still run with this working directory a while after their job: one ends when its last rank is gone."""
    until = time.monotonic() + limit_s
    while (left := _running_hubs(directory)) and time.monotonic() < until:
        time.sleep(0.1)
    return left


def _running_hubs(directory: Path) -> list[str]:
    left = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            if "pytest_pario.session.hub" in command and (entry / "cwd").resolve() == directory.resolve():
                left.append(command)
        except OSError:
            continue
    return left
