"""`pario bench strategies`: our strategies against the library's own collective call, as ratios of times."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_pario.bench.loop import default_directories, filesystem, scratch_directories
from pytest_pario.errors import ParameterError, SessionError
from pytest_pario.session.launcher import find_launcher

JOB_LIMIT_S = 300.0


def run_strategies_bench(ranks: int, directories: Sequence[str], repeat: int, mpiexec: str | None) -> int:
    """Run one job that measures everything in alternation, and print one table."""
    for name, value, least in (("--ranks", ranks, 2), ("--repeat", repeat, 1)):
        if value < least:
            raise ParameterError(name, value, f"{least} or more", "command line")
    with scratch_directories(directories or default_directories()) as scratch:
        start = find_launcher(mpiexec, ranks)
        settings = json.dumps({"directories": list(scratch), "repeat": repeat})
        command = [*start.command, sys.executable, "-m", "pytest_pario.bench.strategies_rank", settings]
        try:
            job = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                timeout=JOB_LIMIT_S,
                env={**os.environ, **start.environment},
            )
        except subprocess.TimeoutExpired as error:
            raise SessionError(f"the job of {ranks} ranks did not end within {JOB_LIMIT_S:g} s") from error
        lines = [line for line in job.stdout.splitlines() if line.startswith("{")]
        if job.returncode or not lines:
            raise SessionError(f"the job of {ranks} ranks failed:\n{(job.stderr or job.stdout)[-2000:]}")
        kinds = {path: filesystem(path) for path in scratch}
        print("\n".join(table(json.loads(lines[-1]), ranks, kinds)))
    return 0


def table(result: Mapping[str, Any], ranks: int, kinds: Mapping[str, str]) -> list[str]:
    """Lines: least time of a pass, and how long each strategy takes against the library's collective call."""
    head = f"{'16 MiB per pass':<28}{'on':<8}{'phase':<7}{'strategy':<20}{'ms':>9}{'ratio':>8}{'median':>8}"
    lines = [
        f"{result['library']}, {ranks} ranks; ratio: time over that of native, least and median of the passes",
        head,
    ]
    for row in result["rows"]:
        for phase, sides in row["seconds"].items():
            native = sides["native"]
            for side, seconds in sorted(sides.items(), key=lambda item: item[0] != "native"):
                least = min(seconds) / min(native)
                middle = statistics.median(seconds) / statistics.median(native)
                lines.append(
                    f"{row['case']:<28}{kinds.get(row['directory'], '?'):<8}{phase:<7}{side:<20}"
                    f"{min(seconds) * 1e3:>9.2f}{least:>8.2f}{middle:>8.2f}"
                )
    lines += ["", f"{'seeks per call and node of a store of 4 nodes':<51}{'strategy':<20}{'mean':>9}{'most':>8}"]
    for row in result["seeks"]:
        name = row["strategy"].partition(":")[0]
        lines.append(f"{'demonstration, 64 KiB, ' + row['phase']:<51}{name:<20}{row['mean']:>9.2f}{row['most']:>8}")
    return lines
