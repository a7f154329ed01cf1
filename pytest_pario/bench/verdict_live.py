"""`pario bench verdict --live DIR`: a real slowdown here, found by nights and by pairs, cleared when undone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_pario.baseline.judge import Judgement, judge
from pytest_pario.baseline.paired import LEAST_PAIRS
from pytest_pario.baseline.rules import DEFAULT
from pytest_pario.baseline.store import Store
from pytest_pario.errors import SessionError
from pytest_pario.report.verdicts import sentence_of
from pytest_pario.session.ab import SLOWER, Limits, compare_configurations
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
TOUCHED = "pieces-64"
REGRESSED = 3
LEARNING = DEFAULT.baseline_least + DEFAULT.unexplained.nights - 1
"""Nights before the first that is judged."""
MOST_SLOW = 6
"""Nights within which the fall must be red."""
LIMIT_S = 1800.0


@dataclass(frozen=True)
class Place:
    """Where nights are measured and kept."""

    site: Path
    directory: Path
    ranks: int
    mpiexec: str | None
    suite: tuple[str, ...]

    def night(self, hint: str | None = None) -> bool:
        """One saved night; whether the run says that something regressed."""
        launcher = find_launcher(self.mpiexec, self.ranks)
        command = [*launcher.command, sys.executable, "-m", "pytest", "--with-mpi", "-q", "-p", "no:cacheprovider"]
        command += [f"--pario-dir={self.directory}", "--pario-machine=live", "--pario-save"]
        command += ["--pario-remeasure=0", f"--pario-store={self.site / 'nights'}", *self.suite]
        command += ["--pario-param", hint] if hint else []
        done = subprocess.run(
            command,
            cwd=self.site,
            env={**os.environ, **launcher.environment},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        # pytest has the same status for an internal error: a regression is told in words, too
        regressed = done.returncode == REGRESSED and "REGRESSED" in done.stdout
        if done.returncode != 0 and not regressed:
            raise SessionError(f"a night ended with status {done.returncode}:\n{(done.stdout + done.stderr)[-1500:]}")
        return regressed

    def judgement(self) -> Judgement:
        """What is said of the last night."""
        return judge(Store(self.site / "nights", "live").read())


def run_live_bench(
    directory: Path, unchanged: int, mpiexec: str | None, ranks: int = 2, suite: Sequence[str] = ()
) -> int:
    """Nights that must stay green; where it is the small suite, then a slowdown that must be found, and its end."""
    with tempfile.TemporaryDirectory(prefix="pario-live-") as folder:
        site = Path(folder)
        (site / "pytest.ini").write_text("[pytest]\n")
        (site / "test_live.py").write_text(SUITE)
        own = (str(site / "test_live.py"),)
        place = Place(site, directory.resolve(), ranks, mpiexec, tuple(suite) or own)
        right = _stays_green(place, unchanged)
        if not suite:
            right = all([_found_by_nights(place), _found_by_pairs(place), right])
    return 0 if right else 1


def _stays_green(place: Place, unchanged: int) -> bool:
    """Learn, then judge so many nights on which nothing was changed."""
    for number in range(LEARNING):
        if place.night():
            raise SessionError(f"night {number + 1} was judged, while the first {LEARNING} are to be learnt from")
    red = []
    for number in range(1, unchanged + 1):
        if place.night():
            red.append(number)
            print("\n".join(f"  night {number}: {told}" for told in _reds(place.judgement())), flush=True)
    judgement = place.judgement()
    blind = sum(one.state == "blind" for one in judgement.findings)
    print(
        f"{unchanged} unchanged nights after {LEARNING} of learning, {len(judgement.findings)} tests, "
        f"{blind} of them blind: {len(red)} red {red or ''}".rstrip(),
        flush=True,
    )
    return not red


def _found_by_nights(place: Place) -> bool:
    """Cripple one pattern until it is red, then undo it."""
    found = next((number for number in range(1, MOST_SLOW + 1) if place.night(CRIPPLE)), None)
    print(f"with {CRIPPLE}: red on night {found}" if found else f"with {CRIPPLE}: not red in {MOST_SLOW} nights")
    judgement = place.judgement()
    for finding in judgement.findings:
        print(f"  {finding.state:<10} {sentence_of(finding)}")
    red = {one.series.name for one in judgement.findings if one.state == "regressed"}
    if red - {TOUCHED}:
        print(f"red although nothing was done to them: {', '.join(sorted(red - {TOUCHED}))}")
    # a red stands until a good night, and nights differ
    green = next((number for number in range(1, MOST_SLOW + 1) if not place.night()), None)
    print(f"undone: green on night {green}" if green else f"undone: still red after {MOST_SLOW} nights", flush=True)
    return red == {TOUCHED} and green is not None


def _found_by_pairs(place: Place) -> bool:
    """The same change with both configurations at hand."""
    given = [*place.suite, f"--rootdir={place.site}", f"--pario-dir={place.directory}"]
    status, lines = compare_configurations(
        "plain", CRIPPLE, place.ranks, Limits(most=LEAST_PAIRS, runs=1), place.mpiexec, given
    )
    print("\n".join(lines), flush=True)
    slower = [line for line in lines if line.endswith(" slower")]
    return status == SLOWER and len(slower) == 1 and TOUCHED in slower[0]


def _reds(judgement: Judgement) -> list[str]:
    return [sentence_of(one) for one in judgement.findings if one.state == "regressed"]
