"""`pario run`: a job that dies is diagnosed and the rest goes on."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pytest_pario.session.journal import read_history
from tests.mpi.jobs import CASES, hub_processes, launcher, run_pario, strip_colour
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


HOARDS = """
from pathlib import Path
from mpi4py import MPI

KEPT = []

def test_before(comm):
    comm.Barrier()

def test_hoards(comm):
    hoarded = Path("hoarded")
    if comm.bcast(None if comm.rank else not hoarded.exists()):
        hoarded.touch()
        try:
            while True:
                KEPT.append(comm.Dup())
        except MPI.Exception:
            pass

def test_needs_one(comm):
    comm.Dup().Free()

def test_after(comm):
    comm.Barrier()
"""


def test_communicators_that_are_used_up_cost_no_test(tmp_path: Path) -> None:
    """MPICH has 2048; what failed for want of one is run again where there are some."""
    (tmp_path / "test_hoards.py").write_text(HOARDS)
    job = run_pario("run", "-n", "3", "--journal=j.jsonl", "test_hoards.py", directory=tmp_path, limit_s=120)
    assert (job.status, job.counts()) == (0, {"passed": 4}), job.output
    assert "ranks 0-2: no communicator is left for another test" in job.output
    assert "Too many communicators" in job.output
    assert "job 1 ended early; 2 of 4 tests are finished, the rest goes on in job 2" in job.output
    assert "INTERNALERROR" not in job.output


def test_the_rest_goes_on_where_the_hub_was_lost(tmp_path: Path) -> None:
    shutil.copy(CASES / "hub_dies.py", tmp_path)
    job = run_pario("run", "-n", "2", "hub_dies.py", directory=tmp_path, limit_s=120)
    assert (job.status, job.counts()) == (1, {"passed": 1, "failed": 1}), job.output
    # by the job that ended, and by the last one where it reports all tests
    assert len(re.findall(r"the hub process \(pid \d+\) is gone", job.output)) >= 2, job.output
    assert "left no diagnosis" not in job.output


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
        (["-n", "2", "--pario-journal", "j.jsonl"], "left to pario run; write --journal FILE"),
        (["-n", "2", "--pario-resume=j.jsonl"], "left to pario run; write --resume FILE"),
    ],
)
def test_bad_calls_are_refused_before_anything_starts(tmp_path: Path, arguments: list[str], message: str) -> None:
    job = run_pario("run", *arguments, directory=tmp_path)
    assert job.status == 2
    assert message in job.output


def test_a_job_that_cannot_start_is_not_tried_for_ever(tmp_path: Path) -> None:
    job = run_pario("run", "-n", "2", "--no-such-option", directory=tmp_path)
    assert job.status != 0
    assert "outside of any test; giving up: no test finished; 0 tests are in " in job.output
    assert not list((tmp_path / ".pario").glob("*.jsonl"))  # an empty journal is of no use


def test_giving_up_says_what_is_finished_and_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "test_ok.py").write_text("def test_a(comm): pass\ndef test_b(comm): pass\n")
    (tmp_path / "conftest.py").write_text(
        "import os\ndef pytest_runtest_logfinish(nodeid):\n    if nodeid.endswith('test_a'): os.kill(os.getpid(), 9)\n"
    )
    job = run_pario("run", "-n", "2", "--journal", "j.jsonl", "test_ok.py", directory=tmp_path)
    assert job.status != 0
    assert re.search(r"giving up: .*\d of 2 tests are in .*j.jsonl", job.output), job.output
    assert re.search(r"go on with: pario run -n 2 --resume .*j.jsonl test_ok.py", job.output), job.output


@pytest.mark.parametrize("option", ["--version", "--markers", "--fixtures"])
def test_asking_for_information_is_no_failure(tmp_path: Path, option: str) -> None:
    job = run_pario("run", "-n", "2", option, directory=tmp_path)
    assert job.status == 0, job.output
    assert "giving up" not in job.output


def test_a_performance_regression_is_a_failure(tmp_path: Path) -> None:
    """pytest-benchmark raises it while reports are written, after the last test has passed."""
    (tmp_path / "test_b.py").write_text(
        "import os\n"
        "def test_b(comm, benchmark):\n"
        "    seconds = 0.02 if os.path.exists('slow') else 0.001\n"
        "    import time; benchmark.pedantic(time.sleep, args=(seconds,), rounds=3)\n"
    )
    arguments = ("run", "-n", "2", "-q", f"--benchmark-storage=file://{tmp_path}/stored")
    first = run_pario(*arguments, "--benchmark-autosave", directory=tmp_path)
    assert first.status == 0, first.output
    (tmp_path / "slow").touch()
    fail = ("--benchmark-compare", "--benchmark-compare-fail=min:50%")
    job = run_pario(*arguments, *fail, "--journal", "j.jsonl", directory=tmp_path)
    assert "Performance has regressed" in job.output
    assert job.status == 1, job.output
    assert read_history(tmp_path / "j.jsonl").exitstatus == 1
    assert "job 2" not in job.output


def test_output_that_nobody_reads_stops_in_order(tmp_path: Path) -> None:
    launcher(2)
    (tmp_path / "test_slow.py").write_text(SLOW)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest_pario.cli", "run", "-n", "2", "-v", "--journal", "j.jsonl"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    try:
        assert process.stderr is not None
        told = process.stderr.read()
        status = process.wait(timeout=120)
    finally:
        process.kill()
    assert status == 128 + signal.SIGPIPE, told
    assert "stopped by SIGPIPE" in told
    assert "Traceback" not in told


@pytest.mark.openmpi
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
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
