"""`pario resonance scan`: one job that sweeps segment sizes and processes over a directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_pario.errors import ParameterError, SessionError
from pytest_pario.report.strategies import format_scan
from pytest_pario.session.launcher import find_launcher
from pytest_pario.units import KiB, MiB

SEGMENTS = tuple(size * KiB for size in (16, 32, 64, 128, 256, 512, 1024))
JOB_LIMIT_S = 3600.0


@dataclass(frozen=True)
class ScanRequest:
    """What is swept, and where."""

    directory: str
    ranks: int = 4
    segments: Sequence[int] = SEGMENTS
    each_bytes: int = 64 * MiB
    """Bytes that each process reads for one point."""
    rounds: int = 5

    def __post_init__(self) -> None:
        for name, value, least in (("-n", self.ranks, 1), ("--size", self.each_bytes, 1), ("--rounds", self.rounds, 2)):
            if value < least:
                raise ParameterError(name, value, f"{least} or more", "command line")
        if not Path(self.directory).is_dir():
            raise ParameterError("--dir", self.directory, "a directory", "command line")
        if not self.segments or min(self.segments) < 1:
            raise ParameterError("--segments", self.segments, "positive sizes", "command line")


def run_scan(request: ScanRequest, mpiexec: str | None = None) -> list[str]:
    """Run the job; lines of what it found."""
    start = find_launcher(mpiexec, request.ranks)
    with tempfile.TemporaryDirectory(dir=request.directory, prefix="pario-scan-") as scratch:
        told = json.dumps({**asdict(request), "directory": scratch})
        command = [*start.command, sys.executable, "-m", "pytest_pario.workloads.resonance.scan", told]
        environment = {**os.environ, **start.environment}
        try:
            job = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=JOB_LIMIT_S, env=environment
            )
        except subprocess.TimeoutExpired as error:
            raise SessionError(f"the scan on {request.ranks} ranks did not end within {JOB_LIMIT_S:g} s") from error
    lines = [line for line in job.stdout.splitlines() if line.startswith("{")]
    if job.returncode or not lines:
        raise SessionError(f"the scan on {request.ranks} ranks failed:\n{(job.stderr or job.stdout)[-2000:]}")
    found = {int(n): {int(s): rates for s, rates in row.items()} for n, row in json.loads(lines[-1]).items()}
    return format_scan(found)
