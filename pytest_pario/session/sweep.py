"""`pario sweep`: jobs that measure hint sets in turns, and jobs that confirm what is recommended."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_pario.errors import ParameterError, SessionError
from pytest_pario.model import Access, Pattern
from pytest_pario.plain import plain
from pytest_pario.report.sweep import beffio_hints_text, romio_hints_text, sweep_lines
from pytest_pario.session.launcher import find_launcher
from pytest_pario.workloads.sweep.analysis import Swept, analyse, interval
from pytest_pario.workloads.sweep.matrix import HintSet, order_of

PAIRS = 5
CONFIRM_ROUNDS = 5


@dataclass(frozen=True)
class SweepRequest:
    """What is to be swept."""

    patterns: tuple[Pattern, ...]
    sets: tuple[HintSet, ...]
    phases: tuple[Access, ...]
    ranks: int
    rounds: int
    directory: Path
    output: Path | None = None
    """Where the hint files go; None writes none."""
    confirm: bool = False
    mpiexec: str | None = None
    limit_s: float = 3600.0

    def __post_init__(self) -> None:
        if self.rounds < 3:
            raise ParameterError("rounds", self.rounds, "3 or more, for an interval", "--rounds")
        if self.ranks < 1:
            raise ParameterError("ranks", self.ranks, "1 or more", "-n")
        for name, path in (("dir", self.directory), ("output", self.output)):
            if path is not None and not os.access(path, os.W_OK | os.X_OK):
                raise ParameterError(name, str(path), "a directory that can be written to", f"--{name}")
        if not self.patterns:
            raise ParameterError("pattern", "", "given at least once", "--pattern")


def run_sweep(request: SweepRequest) -> list[str]:
    """Measure, analyse, write the files, confirm; returns the lines to print."""
    plans = order_of(len(request.sets), request.rounds)
    told = _job(request, request.sets, plans, {})
    by_name = {pattern.name: pattern for pattern in request.patterns}
    found = [
        analyse(one["pattern"], one["phase"], request.sets, plans=plans, rates=one["rates"], told=one["told"])
        for one in told["found"]
    ]
    lines = sweep_lines(found, rounds=request.rounds, library=told["library"])
    lines += _write(request, found, by_name)
    if request.confirm:
        lines += ["", *(line for one in found for line in _confirm(request, one, told["library"], by_name))]
    return lines


def _write(request: SweepRequest, found: Sequence[Swept], patterns: Mapping[str, Pattern]) -> list[str]:
    if request.output is None:
        return []
    texts = {f"{one.pattern}-{one.phase}.romio_hints": romio_hints_text(one) for one in found}
    texts["beffio.hints"] = beffio_hints_text(found, patterns)
    for name, text in texts.items():
        (request.output / name).write_text(text, encoding="utf-8")
    return ["", *(f"written: {request.output / name}" for name in texts)]


def _job(request: SweepRequest, sets: Sequence[HintSet], plans: Any, environment: Mapping[str, str]) -> dict[str, Any]:
    launcher = find_launcher(request.mpiexec, request.ranks)
    asked = {
        "patterns": [plain(pattern) for pattern in request.patterns],
        "phases": request.phases,
        "sets": [dict(one.hints) for one in sets],
        "plans": plans,
    }
    with tempfile.TemporaryDirectory(prefix="pario-sweep-", dir=request.directory) as scratch:
        told = Path(scratch) / "asked.json"
        told.write_text(json.dumps({**asked, "directory": scratch}), encoding="utf-8")
        command = [*launcher.command, sys.executable, "-m", "pytest_pario.workloads.sweep.rank", str(told)]
        inherited = {key: value for key, value in os.environ.items() if key != "ROMIO_HINTS"}
        done = subprocess.run(
            command,
            env={**inherited, **launcher.environment, **environment},
            capture_output=True,
            text=True,
            timeout=request.limit_s,
            check=False,
        )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise SessionError(
            f"the job of {request.ranks} ranks ended with status {done.returncode}:\n{done.stderr[-2000:]}"
        )
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def _confirm(request: SweepRequest, one: Swept, library: str, patterns: Mapping[str, Pattern]) -> list[str]:
    """Jobs with and without the recommended ROMIO_HINTS file in turns: the gain without any code asking for hints."""
    name = f"{one.pattern} {one.phase}"
    if one.recommended is one.cells[0]:
        return [f"{name}: nothing to confirm, the default is recommended"]
    if "MPICH" not in library and "Intel" not in library:
        return [f"{name}: not confirmed, {library} does not read ROMIO_HINTS"]
    alone = SweepRequest(
        (patterns[one.pattern],), (HintSet(),), (one.phase,), request.ranks, 3, request.directory,  # type: ignore[arg-type]
        mpiexec=request.mpiexec, limit_s=request.limit_s,
    )  # fmt: skip
    ratios = []
    with tempfile.NamedTemporaryFile("w", prefix="pario-", suffix=".romio_hints", dir=request.directory) as file:
        file.write(romio_hints_text(one))
        file.flush()
        for number in range(PAIRS):
            rates = {}
            for hinted in (True, False) if number % 2 else (False, True):
                told = _job(alone, alone.sets, [[0] * CONFIRM_ROUNDS], {"ROMIO_HINTS": file.name} if hinted else {})
                rates[hinted] = statistics.median(told["found"][0]["rates"][0])
            ratios.append(rates[True] / rates[False])
    ratio, low, high = interval(ratios)
    return [
        f"{name}: with ROMIO_HINTS {ratio:.2f} [{low:.2f}, {high:.2f}] of the default in {PAIRS} pairs of jobs, "
        f"the sweep said {one.recommended.ratio:.2f}"
    ]


SHAPES = ("segmented", "strided", "strided_at_once")


def parse_pattern(text: str, ranks: int) -> Pattern:
    """`strided:32KiB:8MiB:coll`: layout, piece, bytes of all ranks together, coll or indep."""
    from pytest_pario.patterns import rows
    from pytest_pario.workloads.kinds import Size

    fields = text.split(":")
    if len(fields) != 4 or fields[0] not in SHAPES or fields[3] not in ("coll", "indep"):
        allowed = f"LAYOUT:PIECE:TOTAL:coll|indep with a layout of {', '.join(SHAPES)}"
        raise ParameterError("pattern", text, allowed, "--pattern")
    try:
        piece, total = (Size(1).read(word) for word in fields[1:3])
    except ValueError:
        raise ParameterError("pattern", text, "sizes such as 32KiB", "--pattern") from None
    name = f"{fields[0]}-{fields[1]}-{fields[3]}"
    return rows.row(name, getattr(rows, fields[0]), piece, total, fields[3] == "coll", ranks)
