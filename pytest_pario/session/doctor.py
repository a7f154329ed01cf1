"""`pario doctor`: what this machine and this filesystem can do, on one screen, with the cure for what they cannot."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from pytest_pario.environment.capabilities import Capability, probe_all
from pytest_pario.environment.collectors import collect_all
from pytest_pario.environment.context import Context
from pytest_pario.environment.local import MEMORY
from pytest_pario.environment.mount import type_of
from pytest_pario.environment.stripe import striping
from pytest_pario.errors import ParioError, SessionError, StripeUnknownError
from pytest_pario.report.doctor import Diagnosis
from pytest_pario.session.consequences import consequences
from pytest_pario.session.launcher import find_launcher
from pytest_pario.session.scratch import check_directory, choose_directory

LIMIT_S = 60.0
END_S = 10.0
WORDS = {
    "collective": "collective writes come back as written",
    "shared_pointer": "ordered writes through the shared file pointer",
    "atomic": "atomic mode",
}


def examine(directory: Path | None, mpiexec: str | None) -> Diagnosis:
    """Look at everything; nothing is left behind."""
    place, origin = choose_directory(directory, os.environ)
    check_directory(place, origin)
    existing = place if place.exists() else place.parent
    told = _ask_mpi(existing, mpiexec)
    hints = told.get("hints", {}).get("in_force", {})
    kind = type_of(Context(existing)) or "this filesystem"
    found = [_library(told), *probe_all(existing), *mpi_capabilities(told, kind), _striping(existing, hints)]
    return Diagnosis(str(place), dict(collect_all(existing, hints)), found, consequences(found, kind in MEMORY))


def _ask_mpi(directory: Path, mpiexec: str | None) -> dict[str, Any]:
    """What the probe program said on two ranks; a probe that hangs is missing."""
    try:
        launcher = find_launcher(mpiexec, 2)
    except SessionError as error:
        return {"problem": str(error)}
    command = [*launcher.command, sys.executable, "-m", "pytest_pario.access.probe", str(directory)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **launcher.environment},
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        output, errors = _end(process)
    told: dict[str, Any] = {}
    for line in output.splitlines():
        if line.startswith('{"probe"'):
            one = json.loads(line)
            told[one.pop("probe")] = one
    if not told:
        told["problem"] = f"{' '.join(launcher.command)} failed: {' '.join(errors.split())[-300:]}"
    # what a probe that was ended could not remove itself
    for path in probe_files(directory, told.get("library", {}).get("pid")):
        path.unlink(missing_ok=True)
    return told


def _end(process: subprocess.Popen[str]) -> tuple[str, str]:
    """End a job that hangs: ranks inside MPI may not hear the first signal."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=END_S)
    return "", "it could not be ended"


def probe_files(directory: Path, pid: object) -> list[Path]:
    """Files that the probe program of this process made in a directory."""
    return list(directory.glob(f"pario-probe-{pid}-*")) if isinstance(pid, int) else []


def _library(told: dict[str, Any]) -> Capability:
    if "library" not in told:
        return Capability("MPI", "no", told["problem"], "pip install 'pytest-pario[mpich]', or --mpiexec CMD")
    return Capability("MPI", "yes", f"{told['library']['version']}, started on {told['library']['ranks']} ranks")


def mpi_capabilities(told: dict[str, Any], kind: str) -> list[Capability]:
    """What the probe program said of MPI-IO on a filesystem of this type; nothing where it could not be started."""
    if "library" not in told:
        return []
    found = [_hints(told.get("hints"), kind)]
    silent = [name for name in WORDS if name not in told]
    for name in WORDS:
        if name in silent[1:]:
            found.append(Capability(name.replace("_", " "), "unknown", f"not tried, for {silent[0]} did not end"))
        else:
            found.append(_worked(name, told.get(name, {"error": f"no answer within {LIMIT_S:.0f} s"})))
    clock = told.get("clock", {})
    if clock:
        rule = "span and slowest rank" if clock["global"] else "slowest rank (span only where all ranks share a host)"
        apart, within = clock["apart_s"] * 1e6, clock["within_s"] * 1e6
        detail = f"clocks of ranks {apart:.1f} us apart, known to {within:.1f} us; job time by {rule}"
        found.append(Capability("MPI clock", "yes" if clock["global"] else "unknown", detail))
    return found


STRIPES = ("striping_unit", "striping_factor", "start_iodevice")
STRIPED = ("lustre", "beegfs", "fhgfs", "pvfs2", "orangefs", "panfs")
"""Filesystems on which a library can set the stripes of a new file."""
CURES = {
    "collective": "do not trust collective results here; try another MPI library or driver",
    "shared_pointer": "leave them out: -k 'not shared', or beff_noshared=1; missing locks may be the reason",
    "atomic": "tests of atomic mode will fail; mount with locks, or leave them out",
}


def _worked(name: str, one: dict[str, Any]) -> Capability:
    words = WORDS[name]
    if one.get("right") is True:
        return Capability(name.replace("_", " "), "yes", words)
    detail = f"{words}: {one.get('error', 'wrong bytes')}"
    return Capability(name.replace("_", " "), "no", detail, CURES[name], is_grave=one.get("right") is False)


def _hints(told: dict[str, Any] | None, kind: str) -> Capability:
    if told is None or "error" in told:
        return Capability("hints", "unknown", str((told or {}).get("error", "no answer")))
    # a library gives stripes back as they were asked for, also where no filesystem can carry them out (ENV-21)
    echoed = [key for key in told["honoured"] if key in STRIPES and kind not in STRIPED]
    honoured = [key for key in told["honoured"] if key not in echoed]
    groups = {"honoured": honoured, f"only echoed, {kind} has no stripes": echoed}
    groups |= {"changed": told["changed"], "dropped": told["dropped"]}
    detail = "; ".join(f"{name}: {', '.join(keys)}" for name, keys in groups.items() if keys)
    return Capability("hints", "yes" if honoured else "no", detail)


def _striping(directory: Path, hints: dict[str, str]) -> Capability:
    try:
        found = striping(directory, hints=hints)
    except StripeUnknownError as error:
        return Capability("striping", "unknown", str(error), "give striping_unit and striping_factor where a test asks")
    except ParioError as error:
        return Capability("striping", "unknown", str(error))
    return Capability("striping", "yes", f"unit {found.unit} B over {found.factor} ({found.source})")
