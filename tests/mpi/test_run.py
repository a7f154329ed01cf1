"""`pario run`: a job that dies is diagnosed and the rest goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.mpi.jobs import hub_processes, launcher, run_pario, strip_colour
from tests.mpi.test_session import SLOW, await_running

TWELVE = """
import os, signal
import pytest

@pytest.mark.parametrize("number", range(5))
def test_before(comm, number):
    assert comm.allreduce(1) == comm.size

def test_kills_its_rank(comm):
    if comm.rank == comm.size - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    comm.Barrier()

@pytest.mark.parametrize("number", range(3))
def test_between(comm, number, bandwidth):
    bandwidth(lambda: 1000)

@pytest.mark.pario_timeout(2)
def test_deadlocks(comm):
    if comm.rank:
        comm.Barrier()
    else:
        comm.recv(source=comm.size - 1)

@pytest.mark.parametrize("number", range(2))
def test_after(comm, number):
    comm.Barrier()
"""


@pytest.mark.openmpi
def test_all_twelve_are_reported(tmp_path: Path) -> None:
    (tmp_path / "test_twelve.py").write_text(TWELVE)
    job = run_pario("run", "-n", "3", "--junitxml=junit.xml", "test_twelve.py", directory=tmp_path, limit_s=400)
    assert job.status == 1, job.output
    assert job.counts() == {"passed": 10, "failed": 2}
    assert "rank 2 (pid " in job.output
    assert "died in test_twelve.py::test_kills_its_rank [call]" in job.output
    assert "no end of test_twelve.py::test_deadlocks [call] within 2 s: rank 0 in recv at test_twelve.py:" in job.output
    assert "the rest goes on in job 3" in job.output
    suite = ET.parse(tmp_path / "junit.xml")
    assert len(suite.findall(".//testcase")) == 12
    assert len(suite.findall(".//failure")) == 2
    assert hub_processes(tmp_path) == []


def test_a_good_run_is_one_job(tmp_path: Path) -> None:
    (tmp_path / "test_ok.py").write_text("def test_ok(comm): comm.Barrier()\n")
    job = run_pario("run", "-n", "2", "-q", directory=tmp_path)
    assert (job.status, job.counts()) == (0, {"passed": 1}), job.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "0"], "-n = 0 (from command line): must be"),
        (["-n", "2", "--mpiexec", "no-such-launcher"], "is not a program that can be run"),
        (["-n", "2", "--resume", "nowhere.jsonl"], "cannot read journal nowhere.jsonl"),
    ],
)
def test_bad_calls_are_refused_before_anything_starts(tmp_path: Path, arguments: list[str], message: str) -> None:
    job = run_pario("run", *arguments, directory=tmp_path)
    assert job.status == 2
    assert message in job.output


def test_a_job_that_cannot_start_is_not_tried_for_ever(tmp_path: Path) -> None:
    job = run_pario("run", "-n", "2", "--no-such-option", directory=tmp_path)
    assert job.status != 0
    assert "giving up" in job.output


@pytest.mark.openmpi
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_with_all_results_saved(tmp_path: Path, signum: signal.Signals) -> None:
    launcher(3)
    (tmp_path / "test_slow.py").write_text(SLOW)
    journal = tmp_path / "j.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest_pario.cli", "run", "-n", "3", "--journal", str(journal), "--junitxml=junit.xml"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        await_running(journal, "test_slow.py::test_sleeps")
        os.kill(process.pid, signum)
        output = strip_colour(process.communicate(timeout=90)[0])
    finally:
        process.kill()
    assert process.returncode == 128 + signum, output
    assert f"stopped by {signum.name}: 1 passed; 1 of 3 tests are in {journal}" in output
    names = [case.get("name") for case in ET.parse(tmp_path / "junit.xml").findall(".//testcase")]
    assert "test_first" in names
    assert "test_never" not in names
    assert hub_processes(tmp_path) == []
