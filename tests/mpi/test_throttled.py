"""A filesystem that really becomes slower under the same suite: found by the nights, cleared when undone."""

from __future__ import annotations

import datetime
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pytest_pario.baseline.store import Store
from tests.beds.throttle import Throttled, missing_reason, throttled_filesystem
from tests.mpi.jobs import Job, run_pytest
from tests.unit.baseline.nights import FIRST, content, scale_entry

pytestmark = [pytest.mark.xdist_group("beds"), pytest.mark.rootonly, pytest.mark.slow, pytest.mark.on_disk]

SUITE = """
import pytest
from pytest_pario.model import Pattern
from pytest_pario.patterns import Segmented

PATTERN = Pattern("segments", Segmented(16 << 20, (1 << 20,), count=16), pointer="explicit")

@pytest.mark.parametrize("phase", ["write", "read"])
def test_rate(phase, pario):
    pario.run(PATTERN, phase, rounds=2, warmup_rounds=0)
"""
MEASURED, LEARNING, WINDOW, UNDONE = 3, 15, 5, 4
USUAL_MB, SLOW_MB = 60, 30


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
        # a probe of the device would take longer than the tests
        f"--pario-device-rate={USUAL_MB}",
        "--pario-machine=box",
        "--pario-save",
        "--pario-remeasure=0",
        "--benchmark-quiet",
    ]
    return run_pytest(2, "-q", *given, "test_rate.py", directory=site)


def learn(site: Path) -> None:
    """Nights of before: those that were measured again and again, each as much faster or slower as nights are."""
    store, rng = Store(site / "baselines", "box"), np.random.default_rng(1)
    measured = [json.loads(path.read_text())["benchmarks"] for path in store.directory.glob("*.json")]
    shutil.rmtree(store.directory)
    for number in range(LEARNING):
        entries = [scale_entry(one, np.exp(rng.normal(0, 0.02))) for one in measured[number % MEASURED]]
        store.save_night(content(entries), FIRST + datetime.timedelta(days=number))


def test_a_filesystem_that_writes_half_as_fast(bed: Throttled, tmp_path: Path) -> None:
    (tmp_path / "test_rate.py").write_text(SUITE)
    bed.set(USUAL_MB, USUAL_MB)
    for _ in range(MEASURED):
        job = night(tmp_path, bed)
        assert job.status == 0, job.output
    learn(tmp_path)
    bed.set(USUAL_MB, SLOW_MB)
    slow = [night(tmp_path, bed) for _ in range(WINDOW)]
    told = slow[-1].output
    assert slow[-1].status == 3, told
    # the writes and they alone
    assert slow[-1].counts() == {"failed": 1, "passed": 1}, told
    assert "segments/write: " in told
    assert "segments/read: " not in told
    # undone: the first good night clears it
    bed.set(USUAL_MB, USUAL_MB)
    statuses: list[int] = []
    while 0 not in statuses and len(statuses) < UNDONE:
        job = night(tmp_path, bed)
        statuses.append(job.status)
    assert statuses[-1] == 0, job.output
