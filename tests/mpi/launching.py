"""Run a script on several MPI ranks in a process of its own, never longer than a given time."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MPIEXEC = Path(sys.executable).parent / "mpiexec"
"""The launcher that was installed with the MPI library of this environment."""


@dataclass(frozen=True)
class RanksResult:
    """What a job left behind."""

    returncode: int
    """Of mpiexec; that of a killed process if the time was up."""

    stdout: str
    stderr: str
    timed_out: bool

    @property
    def records(self) -> list[dict[str, Any]]:
        """The lines of standard output that hold a JSON object, ordered by rank."""
        found = [json.loads(line) for line in self.stdout.splitlines() if line.startswith("{")]
        return sorted(found, key=lambda record: int(record["rank"]))


@functools.cache
def launcher_version() -> str:
    """First words of the launcher about itself; empty where there is none."""
    if not MPIEXEC.exists():
        return ""
    answer = subprocess.run([str(MPIEXEC), "--version"], capture_output=True, text=True, timeout=120, check=False)
    return answer.stdout.strip()


def is_openmpi() -> bool:
    """Whether the launcher is the one of Open MPI."""
    return "Open MPI" in launcher_version() or "OpenRTE" in launcher_version()


def missing_reason() -> str | None:
    """Say why no job can be run here, or None where it can."""
    if not launcher_version():
        return f"no MPI library: {MPIEXEC} does not exist (pip install 'pytest-pario[mpich]')"
    return None


def run_ranks(
    script_or_argv: Path | Sequence[str], n: int, timeout: float = 240, env: Mapping[str, str] | None = None
) -> RanksResult:
    """Run Python with a script, or with these arguments, on `n` ranks; everything is killed when the time is up."""
    argv = [str(script_or_argv)] if isinstance(script_or_argv, Path) else list(script_or_argv)
    process = subprocess.Popen(
        [str(MPIEXEC), *_options(), "-n", str(n), sys.executable, *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(env or {}),
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        stdout, stderr = _end(process)
        return RanksResult(process.returncode, stdout, stderr, timed_out=True)
    return RanksResult(process.returncode, stdout, stderr, timed_out=False)


def _options() -> list[str]:
    return ["--oversubscribe"] if is_openmpi() else []


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    allow_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if is_openmpi() else {}
    return {**os.environ, **allow_root, **extra}


def _end(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Ask the launcher to end its ranks, which it may keep in other process groups; then kill what is left."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=5)
    return "", "the launcher could not be killed"
