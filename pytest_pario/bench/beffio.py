"""`pario bench beffio`: what barriers and broadcasts cost b_eff_io, by batches and call by call (BEFF-25, BEFF-26)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_pario.errors import ParameterError, SessionError
from pytest_pario.session.launcher import find_launcher
from pytest_pario.workloads.beffio.averages import ACCESSES
from pytest_pario.workloads.beffio.results import PatternResult, collect
from pytest_pario.workloads.kinds import Size

RULES = ("geometric", "per_call")
JOB_FACTOR, JOB_SPARE_S = 20, 120
"""A job may take this many times its scheduled time, and so many seconds more (BEFF-28)."""


def run_beffio_bench(ranks: int, seconds: float, directory: str, limit: str | None, mpiexec: str | None) -> int:
    """Run the benchmark on one partition under both rules, and print the table."""
    if ranks < 1:
        raise ParameterError("ranks", ranks, "1 or more", "--ranks")
    if not 0 < seconds <= 3600:
        raise ParameterError("time", seconds, "more than 0 and at most 3600 seconds", "--time")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise ParameterError("dir", directory, "a directory that can be written to", "--dir")
    limit_bytes = _limit(limit)
    launcher = find_launcher(mpiexec, ranks)
    with tempfile.TemporaryDirectory(prefix="pario-bench-", dir=directory) as scratch:
        told = json.dumps({"directory": scratch, "seconds": seconds, "rules": RULES, "limit_bytes": limit_bytes})
        command = [*launcher.command, sys.executable, "-m", "pytest_pario.bench.beffio_rank", told]
        done = subprocess.run(
            command,
            env={**os.environ, **launcher.environment},
            capture_output=True,
            text=True,
            timeout=JOB_FACTOR * seconds + JOB_SPARE_S,
            check=False,
        )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise SessionError(f"the job of {ranks} ranks ended with status {done.returncode}:\n{done.stderr[-800:]}")
    print("\n".join(table(json.loads(lines[-1]), ranks, seconds, Path(directory))))
    return 0


def _limit(text: str | None) -> int | None:
    size = Size(1)
    try:
        return None if text is None else size.read(text)
    except ValueError as error:
        raise ParameterError("limit", text, size.allowed, "--limit") from error


def table(found: Mapping[str, Sequence[Mapping[str, Any]]], ranks: int, seconds: float, directory: Path) -> list[str]:
    """Lines for people: per pattern what share of its time went into deciding, and how often was decided."""
    by_rule = {rule: {(o.access, o.number): o for o in collect(found[rule]).patterns} for rule in RULES}
    lines = [
        f"b_eff_io on {ranks} ranks in {directory}, T = {seconds:g} s: time in barriers and broadcasts when writing",
        f"{'pattern':<22}{'calls':>9}{'decisions':>11}{'lost':>8}    {'calls':>9}{'decisions':>11}{'lost':>8}",
        f"{'':<22}{RULES[0]:>28}    {RULES[1]:>28}",
    ]
    numbers = sorted(number for access, number in by_rule[RULES[0]] if access == "write")
    for number in numbers:
        cells = [by_rule[rule]["write", number] for rule in RULES]
        if cells[0].row.type <= 2 and cells[0].row.units:
            name = f"{cells[0].row.name} {cells[0].row.kind} {cells[0].row.label}"
            lines.append(f"{name:<22}" + "    ".join(_cell(one) for one in cells))
    lines += ["", *(_times(rule, by_rule[rule].values()) for rule in RULES)]
    return lines


def _cell(one: PatternResult) -> str:
    return f"{one.repetitions:>9}{one.decisions:>11}{(one.lost_s or 0.0) / one.elapsed_s:>8.1%}"


def _times(rule: str, results: Any) -> str:
    """Scheduled against actual time of what is driven by time, and of all (BEFF-28)."""
    results = list(results)
    driven = [one for one in results if one.scheduled_s > 0 and one.access == "write"]
    scheduled = sum(one.scheduled_s for one in driven)
    loops = sum(one.elapsed_s - one.sync_s for one in driven)
    whole = {a: sum(one.elapsed_s for one in results if one.access == a) for a in ACCESSES}
    told = ", ".join(f"{access} {seconds:.2f} s" for access, seconds in whole.items())
    limited = sum("byte_limited" in one.flags for one in driven)
    # a loop that ran out of space has not used its time
    cut = f"; {limited} of {len(driven)} loops ended early, by bytes or free space" if limited else ""
    return (
        f"{rule}: time-driven loops {loops:.2f} s, {loops / scheduled:.3f} of the scheduled {scheduled:.2f} s "
        f"(syncs {sum(one.sync_s for one in driven):.2f} s more); in all {told}{cut}"
    )
