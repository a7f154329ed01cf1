"""Samples of several ranks in pytest-benchmark: agreed rounds, slowest rank, bandwidth shown as such."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.mpi.jobs import run_pytest

SUITE = """
import time
import pytest

def test_bandwidth(comm, bandwidth):
    def move():
        time.sleep(0.01 * (1 + comm.rank))
        return 1 << 20
    samples = bandwidth(move, rounds=4, pattern="strided")
    assert samples.moved_bytes == (comm.size << 20,) * 4
    assert min(samples.seconds) >= 0.01 * comm.size  # the slowest rank counts
    assert len(set(comm.allgather(samples))) == 1

def test_as_many_rounds_as_fit(comm, bandwidth):
    samples = bandwidth(lambda: time.sleep(0.02), seconds=0.2)
    assert len(set(comm.allgather(len(samples.seconds)))) == 1

def test_calibrated(comm, benchmark):
    assert benchmark(comm.allreduce, 1) == comm.size

def test_pedantic(comm, benchmark):
    made = []
    benchmark.pedantic(made.append, setup=lambda: ((1,), {}), rounds=6, warmup_rounds=2)
    assert len(made) == (8 if benchmark.enabled else 1)

@pytest.mark.pario_ranks(2)
def test_part_of_the_ranks(comm, benchmark):
    benchmark.pedantic(comm.Barrier, rounds=3)
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "test_b.py").write_text(SUITE)
    return tmp_path


@pytest.mark.openmpi
@pytest.mark.parametrize("ranks", [3])
def test_json_has_each_benchmark_once(suite: Path, ranks: int) -> None:
    job = run_pytest(ranks, "--benchmark-json=b.json", directory=suite)
    assert job.counts() == {"passed": 5}, job.output
    saved = {one["name"]: one for one in json.loads((suite / "b.json").read_text())["benchmarks"]}
    assert len(saved) == 5
    info = saved["test_bandwidth"]["extra_info"]
    assert info["moved_bytes"] == [ranks << 20] * 4
    assert info["pattern"] == "strided"
    assert len(info["warmup_seconds"]) == 1
    assert len(saved["test_bandwidth"]["stats"]["data"]) == 4
    assert saved["test_pedantic"]["stats"]["rounds"] == 6
    assert saved["test_part_of_the_ranks"]["extra_info"]["ranks"] == 2


def test_bandwidth_is_compared_with_more_is_better(suite: Path) -> None:
    storage = f"--benchmark-storage=file://{suite}/stored"
    run_pytest(2, "-k", "test_bandwidth", "--benchmark-autosave", "--benchmark-save-data", storage, directory=suite)
    slower = SUITE.replace("0.01 * (1 + comm.rank)", "0.02 * (1 + comm.rank)")
    (suite / "test_b.py").write_text(slower)
    job = run_pytest(2, "-k", "test_bandwidth", "--benchmark-compare", storage, directory=suite)
    assert job.status == 0, job.output
    row = re.search(r"^test_bandwidth +2 +[\d.]+ .* (-\d+\.\d)%$", job.output, re.MULTILINE)
    assert row, job.output
    assert -60 < float(row[1]) < -40
    assert len(list((suite / "stored").rglob("*.json"))) == 1


@pytest.mark.parametrize("option", ["--benchmark-disable", "--benchmark-skip", "--benchmark-only"])
def test_switches_of_pytest_benchmark_work(suite: Path, option: str) -> None:
    job = run_pytest(2, option, directory=suite)
    assert job.status == 0, job.output
    assert "Benchmark fixture was not used" not in job.output
    told = {"--benchmark-disable": {"passed": 5}, "--benchmark-skip": {"skipped": 5}, "--benchmark-only": {"passed": 5}}
    assert job.counts() == told[option], job.output


def test_an_error_in_a_round_reaches_all_ranks(tmp_path: Path) -> None:
    (tmp_path / "test_e.py").write_text(
        "def test_e(comm, bandwidth):\n"
        "    def move():\n"
        "        if comm.rank == 1: raise OSError('no space left')\n"
        "    bandwidth(move)\n"
        "def test_next(comm): comm.Barrier()\n"
    )
    job = run_pytest(3, directory=tmp_path)
    assert job.counts() == {"failed": 1, "passed": 1}, job.output
    assert "rank 1 of 3: OSError: no space left" in job.output
