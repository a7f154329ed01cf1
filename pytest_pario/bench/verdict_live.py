"""`pario bench verdict --live DIR`: a real slowdown on this machine, found by the nights, cleared when undone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pytest_pario.baseline.judge import Judgement, judge
from pytest_pario.baseline.store import Store
from pytest_pario.errors import SessionError
from pytest_pario.report.verdicts import sentence_of
from pytest_pario.session.launcher import find_launcher

# pieces are written one by one without data sieving: many times slower, while contiguous segments are not touched
CRIPPLE = "hint:romio_ds_write=disable"
SUITE = """
import pytest
from pytest_pario.model import Pattern
from pytest_pario.patterns import Segmented, Strided

PATTERNS = [Pattern("pieces-64", Strided(64, per_call=4096, ncalls=4))] + [
    Pattern(f"segments-{k}K", Segmented(4 << 20, (k << 10,), count=4096 // k), pointer="explicit")
    for k in (64, 128, 256)
]

@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_write(pattern, pario):
    pario.run(pattern, "write", rounds=3)
"""
REGRESSED = 3
MOST_SLOW = 6
"""Nights within which the fall must be red."""


def run_live_bench(directory: Path, unchanged: int, mpiexec: str | None) -> int:
    """`unchanged` nights that must stay green, slow nights until red, then one night with the slowdown undone."""
    with tempfile.TemporaryDirectory(prefix="pario-live-") as folder:
        site = Path(folder)
        (site / "test_live.py").write_text(SUITE)
        (site / "pytest.ini").write_text("[pytest]\n")
        red = [number for number in range(unchanged) if _night(site, directory, mpiexec, None)]
        print(f"{unchanged} unchanged nights: {len(red)} red {red or ''}", flush=True)
        found = None
        for number in range(1, MOST_SLOW + 1):
            if _night(site, directory, mpiexec, CRIPPLE):
                found = number
                break
        print(f"with {CRIPPLE}: red on night {found}" if found else f"with {CRIPPLE}: not red in {MOST_SLOW} nights")
        for finding in _judgement(site).findings:
            print(f"  {finding.state:<10} {sentence_of(finding)}")
        undone = _night(site, directory, mpiexec, None)
        print(f"undone: {'still red' if undone else 'green'}", flush=True)
    return 0 if found and not undone and not red else 1


def _night(site: Path, directory: Path, mpiexec: str | None, hint: str | None) -> bool:
    """One saved night; whether the run says that something regressed."""
    launcher = find_launcher(mpiexec, 2)
    command = [*launcher.command, sys.executable, "-m", "pytest", "--with-mpi", "-q", "-p", "no:cacheprovider"]
    command += [
        f"--pario-dir={directory}",
        "--pario-machine=live",
        "--pario-save",
        "--pario-remeasure=0",
        "test_live.py",
    ]
    command += ["--pario-param", hint] if hint else []
    environment = {**os.environ, **launcher.environment}
    done = subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True, timeout=300, check=False)
    # pytest has the same status for an internal error: a regression is told in words, too
    regressed = done.returncode == REGRESSED and "REGRESSED" in done.stdout
    if done.returncode != 0 and not regressed:
        raise SessionError(f"a night ended with status {done.returncode}:\n{(done.stdout + done.stderr)[-1500:]}")
    return regressed


def _judgement(site: Path) -> Judgement:
    return judge(Store(site / "baselines", "live").read())
