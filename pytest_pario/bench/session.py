"""`pario bench session`: the time of 60 empty tests under the plugin and under stock pytest with pytest-mpi."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_pario.errors import SessionError
from pytest_pario.session.launcher import find_launcher

TESTS = 60
LIMIT_S = 300.0

# each run of the file leaves the times of its first and its last test on rank 0
SOURCE = f"""
import os, time, pytest

def stamp(name):
    if int(os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK", "0"))) == 0:
        with open(os.environ["PARIO_BENCH_DIR"] + "/" + name, "w") as file:
            file.write(repr(time.time()))

@pytest.mark.parametrize("number", range({TESTS}))
def test_empty(number):
    if number in (0, {TESTS - 1}):
        stamp("first" if number == 0 else "last")
"""


@dataclass(frozen=True)
class Times:
    """Seconds of one run."""

    start: float
    """From the launch to the first test."""
    tests: float
    """From the first test to the last."""
    whole: float
    """From the launch to the end of the job."""


def run_session_bench(ranks: Sequence[int], repeat: int, mpiexec: str | None) -> int:
    """Alternate both sides, print medians and the ratio of medians."""
    print(f"{TESTS} empty tests, medians of {repeat} alternating runs; ratio = pario / stock (less is better)")
    print(f"{'ranks':>5}  {'side':<7}{'start s':>9}{'tests s':>9}{'whole s':>9}")
    with tempfile.TemporaryDirectory(prefix="pario-bench-") as directory:
        folder = Path(directory)
        (folder / "test_empty.py").write_text(SOURCE)
        (folder / "pytest.ini").write_text("[pytest]\n")
        for count in ranks:
            sides: dict[str, list[Times]] = {"stock": [], "pario": []}
            for _ in range(repeat):
                for side, times in sides.items():
                    times.append(_run_once(folder, side, count, mpiexec))
            _print_rows(count, sides)
    return 0


def _run_once(folder: Path, side: str, ranks: int, mpiexec: str | None) -> Times:
    launcher = find_launcher(mpiexec, ranks)
    plugin = ["-p", "no:pario"] if side == "stock" else []
    command = [*launcher.command, sys.executable, "-m", "pytest", "--with-mpi", "-q", *plugin, "test_empty.py"]
    environment = {**os.environ, **launcher.environment, "PARIO_BENCH_DIR": str(folder)}
    begun = time.time()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=LIMIT_S, check=False)
    ended = time.time()
    if done.returncode:
        raise SessionError(
            f"{side} at {ranks} ranks ended with status {done.returncode}:\n{done.stderr.decode()[-800:]}"
        )
    first, last = (float((folder / name).read_text()) for name in ("first", "last"))
    return Times(first - begun, last - first, ended - begun)


def _print_rows(ranks: int, sides: dict[str, list[Times]]) -> None:
    medians = {
        side: [statistics.median(getattr(one, name) for one in times) for name in ("start", "tests", "whole")]
        for side, times in sides.items()
    }
    for side, values in medians.items():
        print(f"{ranks:>5}  {side:<7}" + "".join(f"{value:>9.2f}" for value in values))
    ratios = [ours / stock for ours, stock in zip(medians["pario"], medians["stock"], strict=True)]
    print(f"{ranks:>5}  {'ratio':<7}" + "".join(f"{ratio:>8.2f}x" for ratio in ratios), flush=True)
