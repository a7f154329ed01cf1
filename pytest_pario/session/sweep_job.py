"""One job of `pario sweep`: started, bounded in time, its line of JSON read, its error shown as one line."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_pario.errors import SessionError
from pytest_pario.model import Access, Pattern
from pytest_pario.plain import plain
from pytest_pario.session.launcher import find_launcher
from pytest_pario.workloads.sweep.matrix import HintSet

GRACE_S = 5.0
"""What a launcher gets to end its ranks."""


@dataclass(frozen=True)
class Task:
    """A pattern and phase, and which sets are measured in which order."""

    pattern: Pattern
    phase: Access
    plans: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Place:
    """Where and how jobs run."""

    ranks: int
    directory: Path
    mpiexec: str | None = None
    limit_s: float = 3600.0


def run_job(
    place: Place, tasks: Sequence[Task], sets: Sequence[HintSet], environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What root told: the library, and for each task the rates and the hints in force."""
    launcher = find_launcher(place.mpiexec, place.ranks)
    asked = {
        "tasks": [{"pattern": plain(one.pattern), "phase": one.phase, "plans": one.plans} for one in tasks],
        "sets": [dict(one.hints) for one in sets],
    }
    with tempfile.TemporaryDirectory(prefix="pario-sweep-", dir=place.directory, ignore_cleanup_errors=True) as scratch:
        file = Path(scratch) / "asked.json"
        file.write_text(json.dumps({**asked, "directory": scratch}), encoding="utf-8")
        command = [*launcher.command, sys.executable, "-m", "pytest_pario.workloads.sweep.rank", str(file)]
        inherited = {key: value for key, value in os.environ.items() if key != "ROMIO_HINTS"}
        status, output, errors = _run(command, {**inherited, **launcher.environment, **(environment or {})}, place)
    return _told(status, output, errors, place.ranks)


def _run(command: Sequence[str], environment: Mapping[str, str], place: Place) -> tuple[int, str, str]:
    """Run to the end; past its limit the job is ended, ranks and all."""
    process = subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=place.limit_s)
    except subprocess.TimeoutExpired:
        _end(process)
        raise SessionError(
            f"the job of {place.ranks} ranks did not end within {place.limit_s:g} s: "
            "measure fewer sets, rounds or bytes, or allow more with --timeout"
        ) from None
    except BaseException:
        _end(process)
        raise
    return process.returncode, output, errors


def _end(process: subprocess.Popen[str]) -> None:
    """Ask the launcher to end its ranks, then end its process group."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=GRACE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _told(status: int, output: str, errors: str, ranks: int) -> dict[str, Any]:
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if status or not lines:
        raise SessionError(f"the job of {ranks} ranks ended with status {status}:\n{errors[-2000:]}")
    result: dict[str, Any] = json.loads(lines[-1])
    if "error" in result:
        raise SessionError(f"the job of {ranks} ranks: {result['error']}")
    return result
