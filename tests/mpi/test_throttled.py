"""A filesystem that really becomes slower under the same suite: found by the nights, cleared when undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.beds.throttle import Throttled, missing_reason, throttled_filesystem
from tests.mpi.jobs import Job, run_pytest

pytestmark = [pytest.mark.xdist_group("beds"), pytest.mark.rootonly, pytest.mark.slow, pytest.mark.on_disk]

SUITE = """
import pytest
from pytest_pario.model import Pattern
from pytest_pario.patterns import Segmented

PATTERNS = [
    Pattern(f"segments-{k}K", Segmented(16 << 20, (k << 10,), count=16384 // k), pointer="explicit")
    for k in (256, 1024)
]

@pytest.mark.parametrize("phase", ["write", "read"])
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_rate(pattern, phase, pario):
    pario.run(pattern, phase, rounds=2)
"""
LEARNING, WINDOW = 15, 5
USUAL_MB, SLOW_MB = 60, 45


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Throttled]:
    reason = missing_reason()
    if reason:
        pytest.skip(reason)
    with throttled_filesystem(tmp_path) as made:
        yield made


def night(site: Path, bed: Throttled) -> Job:
    given = [
        f"--pario-dir={bed.path}",
        "--pario-machine=box",
        "--pario-save",
        "--pario-remeasure=0",
        "--benchmark-quiet",
    ]
    return run_pytest(2, "-q", *given, "test_rate.py", directory=site)


def test_a_filesystem_that_writes_a_quarter_slower(bed: Throttled, tmp_path: Path) -> None:
    (tmp_path / "test_rate.py").write_text(SUITE)
    bed.set(USUAL_MB, USUAL_MB)
    for _ in range(LEARNING):
        job = night(tmp_path, bed)
        assert job.status == 0, job.output
    bed.set(USUAL_MB, SLOW_MB)
    slow = [night(tmp_path, bed) for _ in range(WINDOW)]
    assert 3 in [job.status for job in slow], slow[-1].output
    told = slow[-1].output
    assert slow[-1].status == 3, told
    # the writes and they alone
    assert slow[-1].counts() == {"failed": 2, "passed": 2}, told
    for k in (256, 1024):
        assert f"segments-{k}K/write: " in told
        assert f"segments-{k}K/read: " not in told
    bed.set(USUAL_MB, USUAL_MB)
    job = night(tmp_path, bed)
    assert job.status == 0, job.output
