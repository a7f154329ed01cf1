"""What a session of several ranks does beyond the outcome of a test."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pytest_pario.session.journal import JournalLock, read_entries, read_history
from tests.mpi.jobs import hub_processes, launcher, run_pytest
from tests.mpi.launching import is_openmpi

THREE = """
import pytest

@pytest.mark.parametrize("number", range(3))
def test_number(comm, number):
    print("said by", comm.rank)
    assert comm.allreduce(1) == comm.size
"""

MAY_BE = (".benchmarks", "base", "b.json", "__pycache__")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "test_three.py").write_text(THREE)
    return tmp_path


@pytest.mark.openmpi
def test_only_root_speaks_and_writes(suite: Path) -> None:
    job = run_pytest(4, "-v", "--junitxml=junit.xml", "--benchmark-json=b.json", "--basetemp=base", directory=suite)
    assert job.status == 0, job.output
    assert job.output.count("test session starts") == 1
    assert len(re.findall(r"test_number\[\d\] PASSED", job.output)) == 3
    assert "MPI Information" not in job.output
    assert job.counts() == {"passed": 3}
    assert len(ET.parse(suite / "junit.xml").findall(".//testcase")) == 3
    assert sorted(path.name for path in suite.iterdir() if path.name not in MAY_BE) == [
        ".pario",
        "junit.xml",
        "test_three.py",
    ]


def test_other_ranks_leave_no_log_and_no_directories(suite: Path) -> None:
    (suite / "pytest.ini").write_text("[pytest]\nlog_file = run.log\nlog_file_level = INFO\n")
    (suite / "test_three.py").write_text(
        "import logging\n"
        "def test_log(comm, tmp_path):\n"
        "    (tmp_path / 'file').write_text('data')\n"
        "    logging.getLogger().info('said by %d', comm.rank)\n"
    )
    temporary = suite / "tmp"
    temporary.mkdir()
    job = run_pytest(3, directory=suite, environment={"TMPDIR": str(temporary)})
    assert job.counts() == {"passed": 1}, job.output
    assert re.findall(r"said by (\d)", (suite / "run.log").read_text()) == ["0"]
    assert not list(temporary.glob("pario-*"))


def test_output_without_capture_is_roots(suite: Path) -> None:
    job = run_pytest(3, "-s", directory=suite)
    assert re.findall(r"said by (\d)", job.output) == ["0", "0", "0"]


@pytest.mark.parametrize(
    "arguments", [("-k", "2"), ("--collect-only", "-q"), ("-x",), ("--maxfail=1",), ("-p", "no:benchmark")]
)
def test_pytests_own_options_keep_working(suite: Path, arguments: tuple[str, ...]) -> None:
    job = run_pytest(2, *arguments, directory=suite)
    assert job.status == 0, job.output
    assert "test_number[2]" in job.output or "passed" in job.output


def test_first_failure_stops_all_ranks(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(
        "def test_a(comm):\n    assert comm.rank\ndef test_b(comm):\n    comm.Barrier()\n"
    )
    job = run_pytest(3, "-x", directory=tmp_path)
    assert (job.status, job.counts()) == (1, {"failed": 1})


def test_last_failed_is_roots_choice(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(
        "def test_a(comm):\n    assert comm.rank\ndef test_b(comm):\n    comm.Barrier()\n"
    )
    cache = ("-p", "cacheprovider", "-o", "cache_dir=cache")
    first = run_pytest(3, *cache, directory=tmp_path)
    second = run_pytest(3, *cache, "--lf", directory=tmp_path)
    assert first.counts() == {"failed": 1, "passed": 1}
    assert second.counts() in ({"failed": 1, "deselected": 1}, {"failed": 1})


def test_usage_errors_are_told_once(suite: Path) -> None:
    job = run_pytest(3, "--pario-timeout=-1", directory=suite)
    assert job.status != 0
    assert job.output.count("--pario-timeout = '-1' (from command line): must be") == 1


def test_an_internal_error_of_one_rank_reaches_root(suite: Path) -> None:
    (suite / "conftest.py").write_text(
        "def pytest_runtest_logstart(nodeid):\n"
        "    import mpi4py.MPI as MPI\n"
        "    if MPI.COMM_WORLD.rank == 1 and '[1]' in nodeid: raise RuntimeError('broken plugin')\n"
    )
    job = run_pytest(3, directory=suite)
    assert job.status == 3, job.output
    assert "rank 1: internal error" in job.output
    assert "broken plugin" in job.output


def test_a_rank_that_fails_before_mpi_does_not_hang_the_job(suite: Path) -> None:
    (suite / "conftest.py").write_text(
        "import os\n"
        "rank = os.environ.get('PMI_RANK', os.environ.get('OMPI_COMM_WORLD_RANK'))\n"
        "if rank == '1': raise ImportError('not on this node')\n"
    )
    job = run_pytest(3, directory=suite, environment={"PARIO_START_TIMEOUT": "4"})
    assert job.status != 0
    assert "[rank 1] E   ImportError: not on this node" in job.output


def test_a_root_that_fails_before_mpi_does_not_hang_the_job(suite: Path) -> None:
    (suite / "conftest.py").write_text(
        "import os\n"
        "rank = os.environ.get('PMI_RANK', os.environ.get('OMPI_COMM_WORLD_RANK'))\n"
        "if rank == '0': raise ImportError('not on this node')\n"
    )
    job = run_pytest(2, directory=suite, environment={"PARIO_START_TIMEOUT": "3"})
    assert job.status != 0
    assert "ImportError: not on this node" in job.output
    assert "pario: rank 1: MPI has not started within 3 s (PARIO_START_TIMEOUT)" in job.output


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("PARIO_START_TIMEOUT", "2min", "a positive number of seconds"),
        ("PARIO_HUB_ADDRESS", "nonsense.invalid", "an address of root's host"),
    ],
)
def test_a_bad_environment_is_told_in_a_sentence(suite: Path, name: str, value: str, allowed: str) -> None:
    job = run_pytest(2, directory=suite, environment={name: value})
    assert job.status == 4, job.output
    assert job.output.count(f"{name} = '{value}' (from environment): must be {allowed}") == 1, job.output
    assert "Traceback" not in job.output


def test_the_hub_works_over_a_named_address(suite: Path) -> None:
    job = run_pytest(3, directory=suite, environment={"PARIO_HUB_ADDRESS": "127.0.0.2"})
    assert job.counts() == {"passed": 3}, job.output


def test_an_address_that_is_not_ours_is_explained(suite: Path) -> None:
    job = run_pytest(3, directory=suite, environment={"PARIO_HUB_ADDRESS": "192.0.2.1"})
    assert job.status == 4, job.output
    assert "192.0.2.1" in job.output


def test_idle_ranks_do_not_burn_a_core(tmp_path: Path) -> None:
    (tmp_path / "test_idle.py").write_text(
        "import os, time, pytest\n"
        "def cpu(): return sum(os.times()[:2])\n"
        "@pytest.mark.pario_ranks(1)\n"
        "def test_alone(comm): time.sleep(3)\n"
        "def test_after(comm):\n"
        "    assert comm.allreduce(cpu() - BEFORE) < 1.5 * comm.size\n"
        "BEFORE = cpu()\n"
    )
    job = run_pytest(2, directory=tmp_path)
    assert job.counts() == {"passed": 2}, job.output


def test_a_session_fixture_may_communicate(tmp_path: Path) -> None:
    (tmp_path / "test_s.py").write_text(
        "import pytest\n"
        "@pytest.fixture(scope='session')\n"
        "def total(world_comm):\n"
        "    yield world_comm.allreduce(1)\n"
        "    world_comm.Barrier()\n"
        "def test_a(total, comm): assert total == comm.size\n"
        "@pytest.mark.pario_ranks(2)\n"
        "def test_b(comm): assert comm.size == 2\n"
        "def test_c(total, shared_tmp_path, comm):\n"
        "    assert len(set(comm.allgather(str(shared_tmp_path)))) == 1\n"
    )
    job = run_pytest(3, directory=tmp_path)
    assert job.counts() == {"passed": 3}, job.output


def test_sixteen_ranks_on_few_cores(suite: Path) -> None:
    job = run_pytest(16, directory=suite)
    assert job.counts() == {"passed": 3}, job.output


# --- journal and resume ---------------------------------------------------------------------------------------------


def test_the_journal_has_a_line_for_every_finished_test(suite: Path) -> None:
    run_pytest(2, "--pario-journal=j.jsonl", directory=suite)
    events = [entry["event"] for entry in read_entries(suite / "j.jsonl")]
    assert events == ["session", "selected", *["start", "end"] * 3, "finish"]


def test_resume_runs_the_rest_and_reports_all(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(
        "import os, pytest\n"
        "def test_bandwidth(bandwidth): bandwidth(lambda: 1000, rounds=4)\n"
        "def test_fails(comm):\n"
        "    print('evidence')\n"
        "    assert comm.rank != 1, 'first run only'\n"
        "def test_skips(): pytest.skip('known reason')\n"
        "@pytest.mark.xfail(reason='bug')\n"
        "def test_xfails(comm): assert comm.rank\n"
        "def test_dies(comm):\n"
        "    from pytest_pario.session.processes import shared_segments\n"
        "    if comm.rank == 0: open('segments', 'w').write(' '.join(shared_segments()))\n"
        "    comm.Barrier()\n"
        "    if os.environ.get('DIE') and comm.rank == 1: os._exit(5)\n"
        "    comm.Barrier()\n"
        "def test_last(comm): comm.Barrier()\n"
    )
    first = run_pytest(3, "--pario-journal=j.jsonl", directory=tmp_path, environment={"DIE": "1"})
    assert first.status != 0
    assert read_history(tmp_path / "j.jsonl").running == "test_x.py::test_dies"
    # a library that was killed leaves its memory; the hub does not
    assert hub_processes(tmp_path) == []
    segments = (tmp_path / "segments").read_text().split()
    assert segments or is_openmpi()
    assert not [one for one in segments if Path(one).exists()]
    reports = ("-ra", "--junitxml=junit.xml", "--benchmark-json=b.json")
    job = run_pytest(3, "--pario-resume=j.jsonl", *reports, directory=tmp_path)
    assert job.status == 1, job.output
    assert job.counts() == {"passed": 3, "failed": 1, "skipped": 1, "xfailed": 1}
    for line in ("rank 1 of 3: AssertionError: first run only", "Captured stdout call [rank 2]", "known reason"):
        assert line in job.output
    assert len(ET.parse(tmp_path / "junit.xml").findall(".//testcase")) == 6
    (saved,) = json.loads((tmp_path / "b.json").read_text())["benchmarks"]
    assert saved["extra_info"]["moved_bytes"] == [3000] * 4
    started = [entry["nodeid"] for entry in read_entries(tmp_path / "j.jsonl") if entry["event"] == "start"]
    assert started.count("test_x.py::test_fails") == 1
    assert started.count("test_x.py::test_dies") == 2


def test_a_journal_of_another_number_of_ranks_is_refused(suite: Path) -> None:
    run_pytest(2, "--pario-journal=j.jsonl", directory=suite)
    job = run_pytest(3, "--pario-resume=j.jsonl", directory=suite)
    assert job.status == 4, job.output
    assert job.output.count("was written with 2 ranks; resume it with as many") == 1


def test_a_journal_belongs_to_one_run(suite: Path) -> None:
    run_pytest(2, "--pario-journal=j.jsonl", directory=suite)
    lock = JournalLock(suite / "j.jsonl", resumes=True)
    job = run_pytest(2, "--pario-resume=j.jsonl", directory=suite)
    assert job.status == 4, job.output
    assert job.output.count("j.jsonl is being written by another run") == 1
    lock.release()
    assert run_pytest(2, "--pario-resume=j.jsonl", directory=suite).counts() == {"passed": 3}


FILLS = """
import resource
import pytest

@pytest.mark.parametrize("number", range(4))
def test_number(comm, number):
    if comm.rank == 0 and number == 1:
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
    print("x" * 20_000)
    comm.Barrier()
"""


@pytest.mark.parametrize(
    ("journal", "status", "told", "counts"),
    [("/dev/full", 4, "No space left on device", {}), ("j.jsonl", 2, "File too large", {"passed": 2})],
)
def test_a_journal_that_cannot_be_written_ends_all_ranks_alike(
    tmp_path: Path, journal: str, status: int, told: str, counts: dict[str, int]
) -> None:
    (tmp_path / "test_fills.py").write_text(FILLS)
    job = run_pytest(3, f"--pario-journal={journal}", "--junitxml=junit.xml", directory=tmp_path, limit_s=60)
    assert job.status == status, job.output
    assert job.counts() == counts, job.output
    assert len(re.findall(rf"journal \S*{journal} cannot be written: {told}", job.output)) == 1, job.output
    assert "Traceback" not in job.output
    assert "INTERNALERROR" not in job.output
    if counts:  # what ran is reported; only the last line of the journal is missing
        names = [case.get("name") for case in ET.parse(tmp_path / "junit.xml").findall(".//testcase")]
        assert names[:2] == ["test_number[0]", "test_number[1]"]
        assert len(read_history(tmp_path / journal).finished) == counts["passed"] - 1
        assert "cannot be written" in str(read_history(tmp_path / journal).stopped)


# --- signals --------------------------------------------------------------------------------------------------------

SLOW = """
import time
def test_first(comm): comm.Barrier()
def test_sleeps(comm): time.sleep(60)
def test_never(comm): pass
"""


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_root_saves_everything(tmp_path: Path, signum: signal.Signals) -> None:
    """SIGTERM is what a batch system sends at the time limit."""
    (tmp_path / "test_slow.py").write_text(SLOW)
    start = launcher(3)
    command = [
        *start.command,
        sys.executable,
        "-m",
        "pytest",
        "--with-mpi",
        "--junitxml=junit.xml",
        "--pario-journal=j.jsonl",
    ]
    process = subprocess.Popen(
        [*command, "test_slow.py"],
        cwd=tmp_path,
        env={**os.environ, **start.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        journal = tmp_path / "j.jsonl"
        await_running(journal, "test_slow.py::test_sleeps")
        os.kill(read_history(journal).processes[0]["pid"], signum)
        output, _ = process.communicate(timeout=240)
    finally:
        process.kill()
    assert process.returncode == 2, output
    assert f"{signum.name} at rank 0" in output
    assert "1 passed" in output
    names = [case.get("name") for case in ET.parse(tmp_path / "junit.xml").findall(".//testcase")]
    assert "test_first" in names
    assert "test_never" not in names
    assert read_history(journal).stopped == f"{signum.name} at rank 0"


def await_running(journal: Path, nodeid: str, limit_s: float = 60.0) -> None:
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        if journal.exists() and read_history(journal).running == nodeid:
            time.sleep(0.5)  # from the start line into the body
            return
        time.sleep(0.05)
    pytest.fail(f"{nodeid} did not start within {limit_s} s")
