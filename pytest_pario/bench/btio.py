"""`pario bench btio`: Mop/s, CPU time and start-up of the BT solver, beside the FMA peak and a reference program."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_pario.access.loops.compiling import numba_missing_reason
from pytest_pario.errors import ParameterError, SessionError
from pytest_pario.report.btio import table_lines
from pytest_pario.session.launcher import find_launcher
from pytest_pario.workloads.btio.classes import ProblemClass, find_class

LIMIT_S = 1800.0
# " Time in seconds =                    54.60" and " Class           =                        A"
SECONDS = re.compile(r"Time in seconds\s*=\s*([0-9.]+)")
CLASS = re.compile(r"Class\s*=\s*([SWA-F])\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Solved:
    """One run of a class."""

    seconds: float
    """The benchmark's own time."""
    job_cpu_s: float
    """CPU seconds of the whole launch, all ranks from start to end: what two programs can be compared by."""
    cpu_s: float | None = None
    """CPU seconds of all ranks in the timed part; None for a reference, which does not tell."""


def run_btio_bench(name: str, ranks: Sequence[int], repeat: int, reference: Path | None, mpiexec: str | None) -> int:
    """Alternate our solver (and its numbers of ranks) with the reference, keep the best of each, print one table."""
    problem = find_class(name, "--class")
    if repeat < 1:
        raise ParameterError("repeat", repeat, "1 or more", "--repeat")
    if reference is not None and not os.access(reference, os.X_OK):
        raise ParameterError("reference", str(reference), "a program that can be run", "--reference")
    peak = _peak()
    rows = []
    with tempfile.TemporaryDirectory(prefix="pario-bench-") as directory:
        _print_start(problem, Path(directory), mpiexec)
        runs: dict[tuple[int, str], list[Solved]] = {}
        # in turn, so that a busy moment of the machine meets all of them
        for _ in range(repeat):
            for count in ranks:
                ours = _ours(problem, count, Path(directory), mpiexec)
                runs.setdefault((count, "pario"), []).append(ours)
                if reference is not None:
                    theirs = _theirs(problem, reference.absolute(), count, Path(directory), mpiexec)
                    runs.setdefault((count, "reference"), []).append(theirs)
        for count in ranks:
            sides = {side: told for (number, side), told in runs.items() if number == count}
            rows += [_row(problem, count, side, told, peak) for side, told in sides.items()]
            if reference is not None:
                rows.append(_ratios(count, sides))
    head = ("side", "ranks", "time s", "Mop/s", "CPU s", "CPU ns/point/step", "% of FMA peak", "CPU s of the job")
    print(f"class {problem.name}, best of {repeat}; operations as the benchmark counts them; CPU s: of the timed part")
    print("\n".join(table_lines(head, rows)), flush=True)
    return 0


def _peak() -> float | None:
    reason = numba_missing_reason()
    if reason is not None:
        print(f"FMA peak: not measured: {reason}")
        return None
    from pytest_pario.bench.peak import measure_peak

    peak = measure_peak()
    print(f"FMA peak of one core: {peak / 1e9:.1f} Gop/s", flush=True)
    return peak


def _print_start(problem: ProblemClass, directory: Path, mpiexec: str | None) -> None:
    """Seconds until the first step, without machine code and with it."""
    cache = {"NUMBA_CACHE_DIR": str(directory / "cache")}
    told = [_job(problem, 1, directory, mpiexec, cache) for _ in range(2)]
    first, second = (one["start_s"] + one["imported_s"] for one in told)
    print(f"start: first run {first:.2f} s (compiles), second run {second:.2f} s", flush=True)


def _job(
    problem: ProblemClass, ranks: int, directory: Path, mpiexec: str | None, more: dict[str, str] | None = None
) -> dict[str, Any]:
    command = [sys.executable, "-m", "pytest_pario.bench.btio_rank", problem.name]
    lines = _run(command, ranks, directory, mpiexec, more).splitlines()
    found: dict[str, Any] = json.loads(next(line for line in lines if line.startswith("{")))
    return found


def _ours(problem: ProblemClass, ranks: int, directory: Path, mpiexec: str | None) -> Solved:
    before = _children_cpu_s()
    told = _job(problem, ranks, directory, mpiexec)
    return Solved(told["total_s"], _children_cpu_s() - before, told["cpu_s"])


def _theirs(problem: ProblemClass, program: Path, ranks: int, directory: Path, mpiexec: str | None) -> Solved:
    before = _children_cpu_s()
    output = _run([str(program)], ranks, directory, mpiexec)
    return Solved(read_seconds(output, problem, program), _children_cpu_s() - before)


def read_seconds(output: str, problem: ProblemClass, program: Path) -> float:
    """The time that a reference tells, if it is one of the class."""
    seconds, found = SECONDS.search(output), CLASS.search(output)
    if seconds is None or found is None or found[1] != problem.name:
        what = f"a BT program of class {problem.name}; it tells of class {found[1] if found else 'none'}"
        raise ParameterError("reference", str(program), what, "--reference")
    return float(seconds[1])


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(
    command: list[str], ranks: int, directory: Path, mpiexec: str | None, more: dict[str, str] | None = None
) -> str:
    launcher = find_launcher(mpiexec, ranks)
    done = subprocess.run(
        [*launcher.command, *command],
        cwd=directory,
        env={**os.environ, **launcher.environment, **(more or {})},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if done.returncode:
        raise SessionError(f"{command[0]} on {ranks} ranks ended with status {done.returncode}:\n{done.stderr[-800:]}")
    return done.stdout


def _row(problem: ProblemClass, ranks: int, side: str, runs: list[Solved], peak: float | None) -> list[str]:
    best, job_cpu_s = min(one.seconds for one in runs), min(one.job_cpu_s for one in runs)
    timed = [one.cpu_s for one in runs if one.cpu_s is not None]
    numbers = [f"{best:.3f}", f"{problem.flops / best / 1e6:.0f}", *_timed(problem, min(timed, default=None), peak)]
    return [side, str(ranks), *numbers, f"{job_cpu_s:.2f}"]


def _timed(problem: ProblemClass, cpu_s: float | None, peak: float | None) -> list[str]:
    """Seconds, nanoseconds per point and step, share of the peak; empty where only the whole job's are known."""
    if cpu_s is None:
        return ["", "", ""]
    share = "" if peak is None else f"{100 * problem.flops / cpu_s / peak:.1f}"
    return [f"{cpu_s:.2f}", f"{cpu_s / problem.interior / problem.steps * 1e9:.0f}", share]


def _ratios(ranks: int, sides: dict[str, list[Solved]]) -> list[str]:
    ours, theirs = sides["pario"], sides["reference"]
    time = min(one.seconds for one in theirs) / min(one.seconds for one in ours)
    cpu = min(one.job_cpu_s for one in theirs) / min(one.job_cpu_s for one in ours)
    return ["reference / pario", str(ranks), f"{time:.2f}x", "", "", "", "", f"{cpu:.2f}x"]
