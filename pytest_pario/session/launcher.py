"""Which command starts N ranks here, and what it needs."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pytest_pario.errors import SessionError

NAMES = ("mpiexec", "mpirun", "srun", "flux")


@dataclass(frozen=True)
class Launcher:
    """A command line that starts ranks when a program is put behind it."""

    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    """What has to be added to the environment."""


def find_launcher(given: str | None, ranks: int) -> Launcher:
    """Take the user's command, else mpiexec beside this Python (the wheels put it there), else one on PATH."""
    command = shlex.split(given) if given else [_first_found()]
    if not command or shutil.which(command[0]) is None:
        raise SessionError(f"launcher {given!r} is not a program that can be run")
    return complete(command, ranks, version_of(command[0]), os.geteuid() == 0)


def complete(command: list[str], ranks: int, version: str, is_root: bool) -> Launcher:
    """Add the number of ranks and what the library needs for root and for more ranks than cores."""
    name = Path(command[0]).name
    environment: dict[str, str] = {}
    if name == "flux" and command[1:2] != ["run"]:
        command = [*command, "run"]
    if "Open MPI" in version or "prte" in version.lower() or "OpenRTE" in version:
        if "--oversubscribe" not in command:
            command = [*command, "--oversubscribe"]
        if is_root:
            environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return Launcher((*command, "-n", str(ranks)), environment)


def version_of(program: str) -> str:
    """What a launcher says of itself; empty where it does not answer."""
    try:
        told = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return told.stdout + told.stderr


def _first_found(which: Callable[[str], str | None] = shutil.which) -> str:
    beside = Path(sys.executable).parent / "mpiexec"
    if beside.exists():
        return str(beside)
    for name in NAMES:
        found = which(name)
        if found:
            return found
    raise SessionError(
        "no mpiexec, mpirun, srun or flux found; install an MPI library with pip install 'pytest-pario[mpich]', "
        "or name a launcher with --mpiexec"
    )
