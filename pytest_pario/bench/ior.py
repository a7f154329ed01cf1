"""The CPU time that IOR takes for the same calls."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

from pytest_pario.errors import SessionError
from pytest_pario.session.launcher import Launcher

LIMIT_S = 120.0
MORE_PASSES = 8
"""Passes over the file that the longer of two runs makes beyond the shorter; the difference is free of start-up."""


def ior_cpu_ns(launcher: Launcher, program: str, file: Path, *, size: int, block: int, call: str) -> float:
    """CPU nanoseconds of all ranks for one pass: `block` bytes each in transfers of `size`; can come out noisy.

    IOR opens and closes the file for every pass, which stays in the figure.
    """
    # -E: write over what is there; -k: leave it there for the next run
    options = ["-a", "MPIIO", "-t", str(size), "-b", str(block), "-w" if call.startswith("write") else "-r", "-E", "-k"]
    command = [*launcher.command, program, *options, "-o", str(file)]
    short, long = (_cpu_ns([*command, "-i", str(passes)], launcher) for passes in (1, 1 + MORE_PASSES))
    return max(0, long - short) / MORE_PASSES


def _cpu_ns(command: list[str], launcher: Launcher) -> int:
    """User and system time of a job, launcher included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, **launcher.environment}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SessionError(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stderr[-800:]}")
    return round(1e9 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime))
