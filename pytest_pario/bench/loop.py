"""`pario bench loop`: CPU time per call of our loops, of a bare loop in C and of IOR, on the same calls.

Wall-clock time would measure the storage and the neighbours; the CPU time that a loop adds to each call is its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from pytest_pario.bench.bare_c import build_bare_loop
from pytest_pario.bench.ior import ior_cpu_ns
from pytest_pario.bench.loop_rank import C_SIDE, CALL_NAMES, Settings
from pytest_pario.environment.context import Context
from pytest_pario.environment.mount import type_of
from pytest_pario.errors import ParameterError, SessionError, SpaceError
from pytest_pario.session.launcher import find_launcher
from pytest_pario.units import KiB, MiB, format_bytes

SIZES = (1 * KiB, 32 * KiB, 1 * MiB, 4 * MiB)
WINDOW_BYTES = 64 * MiB
"""What all ranks together write and read over and over; small enough to stay in the page cache."""
ROUNDS, REPEAT = 3, 3
"""Jobs per number of ranks, and repetitions in each."""
LIMIT_S = 100.0
"""No round but the first is begun if it would end later than this."""
JOB_LIMIT_S = 300.0
SUFFIXES = {"": 1, "B": 1, "K": KiB, "KIB": KiB, "M": MiB, "MIB": MiB}
IOR_SIDE = "IOR"
OURS = ("compiled", "python")

Key = tuple[int, str, int, str]
"""Ranks, directory, transfer size and call."""


@dataclass
class Findings:
    """What all jobs told."""

    library: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    """Why a column is empty, by its name."""
    cells: dict[Key, dict[str, list[float]]] = field(default_factory=dict)
    """CPU nanoseconds per call, a value per repetition, for each side."""

    def add(self, key: Key, side: str, values: Sequence[float]) -> None:
        """Put more repetitions to what there is."""
        self.cells.setdefault(key, {}).setdefault(side, []).extend(values)


def run_loop_bench(
    ranks: Sequence[int], directories: Sequence[str], sizes: Sequence[str], ior: str | None, mpiexec: str | None
) -> int:
    """Alternate all sides over several rounds, then print one table."""
    transfers = [parse_size(text) for text in sizes] or list(SIZES)
    if any(count < 1 for count in ranks):
        raise ParameterError("ranks", list(ranks), "positive numbers", "--ranks")
    if ior is not None and shutil.which(ior) is None:
        raise ParameterError("ior", ior, "a program that can be run", "--ior")
    with (
        scratch_directories(directories or default_directories()) as scratch,
        tempfile.TemporaryDirectory() as workshop,
    ):
        library, said = build_bare_loop(Path(workshop))
        findings = Findings() if library else Findings(notes={C_SIDE: said})
        settings = Settings(
            list(scratch), transfers, 0, REPEAT, LIMIT_S / len(ranks), str(library) if library else None
        )
        begun = time.monotonic()
        for number in range(ROUNDS):
            if number and (time.monotonic() - begun) * (number + 1) / number > LIMIT_S:
                break
            for count in ranks:
                _run_job(findings, settings, count, mpiexec)
                if ior is not None:
                    _run_ior(findings, settings, count, mpiexec, ior)
        print("\n".join(table(findings, scratch, said, ior is not None)), flush=True)
    return 0


def parse_size(text: str) -> int:
    """Take `1024`, `32k` or `4MiB`."""
    digits = text.rstrip("BKMIbkmi")
    unit = SUFFIXES.get(text[len(digits) :].upper())
    if unit is None or not digits.isdecimal() or not 0 < int(digits) * unit <= WINDOW_BYTES:
        raise ParameterError("size", text, f"1 B to {format_bytes(WINDOW_BYTES)}, such as 32k or 4MiB", "--sizes")
    return int(digits) * unit


def default_directories() -> list[str]:
    """Memory, where /dev/shm is that, and the current directory."""
    memory = ["/dev/shm"] if filesystem("/dev/shm") == "tmpfs" and os.access("/dev/shm", os.W_OK) else []  # noqa: S108
    return [*memory, "."]


def filesystem(path: str) -> str:
    """Type of the file system that a path is on."""
    return type_of(Context(path)) or "unknown"


# Jobs.


@contextlib.contextmanager
def scratch_directories(directories: Sequence[str]) -> Iterator[dict[str, str]]:
    """Make a directory in each of these and remove it whatever happens; the label of each by its path."""

    def leave(_number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        with contextlib.ExitStack() as stack:
            labels = {}
            for directory in directories:
                if not os.access(directory, os.W_OK | os.X_OK):
                    raise ParameterError("dir", directory, "a directory that can be written to", "--dir")
                if shutil.disk_usage(directory).free < 2 * WINDOW_BYTES:
                    raise SpaceError(f"{directory} has less than {format_bytes(2 * WINDOW_BYTES)} free")
                made = stack.enter_context(tempfile.TemporaryDirectory(prefix="pario-bench-", dir=directory))
                labels[str(Path(made).resolve())] = f"{directory} ({filesystem(directory)})"
            yield labels
    finally:
        signal.signal(signal.SIGTERM, before)


def _window(ranks: int, size: int) -> int:
    """Bytes per rank: its share, in whole transfers."""
    return max(size, WINDOW_BYTES // ranks // size * size)


def _run_job(findings: Findings, settings: Settings, ranks: int, mpiexec: str | None) -> None:
    launcher = find_launcher(mpiexec, ranks)
    window = max(_window(ranks, size) for size in settings.sizes)
    told = json.dumps({**asdict(settings), "window_bytes": window})
    command = [*launcher.command, sys.executable, "-m", "pytest_pario.bench.loop_rank", told]
    environment = {**os.environ, **launcher.environment}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=JOB_LIMIT_S, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise SessionError(f"the job of {ranks} ranks ended with status {done.returncode}:\n{done.stderr[-800:]}")
    result: dict[str, Any] = json.loads(lines[-1])
    findings.library = result["library"]
    findings.notes.update(result["missing"])
    for cell in result["cells"]:
        for side, values in cell["cpu_ns"].items():
            findings.add((ranks, cell["directory"], cell["size"], cell["call"]), side, values)


def _run_ior(findings: Findings, settings: Settings, ranks: int, mpiexec: str | None, program: str) -> None:
    launcher = find_launcher(mpiexec, ranks)
    for directory in settings.directories:
        for size in settings.sizes:
            for call in CALL_NAMES:
                block = _window(ranks, size)
                spent = ior_cpu_ns(launcher, program, Path(directory) / "ior", size=size, block=block, call=call)
                calls = ranks * (block // size)
                findings.add((ranks, directory, size, call), IOR_SIDE, [spent / calls])


# The table.


def table(findings: Findings, labels: dict[str, str], c_command: str, with_ior: bool) -> list[str]:
    """Lines for people: medians, and how many times our CPU time the others take."""
    sides = [*OURS, C_SIDE, *([IOR_SIDE] if with_ior else [])]
    ratios = [(C_SIDE, ours) for ours in OURS] + ([(IOR_SIDE, ours) for ours in OURS] if with_ior else [])
    width = max(len(label) for label in labels.values())
    count = min((len(values) for cell in findings.cells.values() for values in cell.values()), default=0)
    lines = [
        f"CPU ns per call (user + system), medians of at least {count} alternating repetitions; {findings.library}",
        "ratios: 1.00 = our loop is as fast as that one, more is better"
        + ("" if C_SIDE in findings.notes else f"; C loop: {c_command}"),
        f"{'ranks':>5}  {'directory':<{width}}  {'transfer':>8}  {'call':<8}"
        + "".join(f"{side:>11}" for side in sides)
        + "".join(f"{f'{other}/{ours}':>14}" for other, ours in ratios),
    ]
    for (ranks, directory, size, call), cell in sorted(findings.cells.items(), key=lambda item: item[0][0]):
        lines.append(
            f"{ranks:>5}  {labels[directory]:<{width}}  {format_bytes(size):>8}  {call:<8}"
            + "".join(f"{_median(cell.get(side, [])):>11}" for side in sides)
            + "".join(f"{_ratio(cell.get(other, []), cell.get(ours, [])):>14}" for other, ours in ratios)
        )
    lines += [f"no {name}: {reason}" for name, reason in findings.notes.items()]
    return lines


def _median(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.0f}" if values else "-"


def _ratio(other: Sequence[float], ours: Sequence[float]) -> str:
    """Median of the ratios of neighbours in time, where both sides have as many; else the ratio of medians."""
    if not other or not ours:
        return "-"
    if len(other) == len(ours):
        return f"{statistics.median(a / b for a, b in zip(other, ours, strict=True)):.2f}"
    return f"{statistics.median(other) / statistics.median(ours):.2f}"
