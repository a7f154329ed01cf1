"""What each task gets when one of them errs in a collective call (GPFS-53), and that the program goes on.

Every case is a job of its own, killed when its time is up: an error that makes tasks wait for each other is what the
guard is there to prevent. In all cases the last task is the one that errs. After the error every case uses the same
file and another one, and only then tells what it got.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.mpi.launching import is_openmpi, missing_reason, run_ranks

THREE = pytest.param(3, marks=pytest.mark.openmpi)
"""The number of ranks that is also run with Open MPI."""

CASES = Path(__file__).parent / "cases" / "guard"
LIMIT_S = 60.0
DEVELOP = {"MP_EUIDEVELOP": "DEVELOP"}

pytestmark = pytest.mark.skipif(missing_reason() is not None, reason=missing_reason() or "")

SILENT = "Open MPI reports success of a collective write that failed"
Spread = Literal["own", "every", "differs", "none"]


@dataclass(frozen=True)
class Row:
    """One case and its outcome."""

    case: str

    error: str
    """The error of the last task, and what it is about."""

    spread: Spread
    """`own`: the others get RemoteTaskError. `every`: all get this error. `differs`: all, but not a task alone."""

    develop: bool = False
    """Whether the job runs in develop mode."""

    mpich_only: str = ""
    """Why the case has no such outcome with Open MPI."""


# fmt: off
#       case                     error                                   spread
GPFS_53 = [
    Row("bad_path",              "FileAccessError ERR_NO_SUCH_FILE",     "own"),
    Row("missing_file",          "FileAccessError ERR_NO_SUCH_FILE",     "own"),
    Row("amode_mismatch",        "InconsistentArgumentsError amode",     "differs"),
    Row("negative_offset",       "ParameterError offset",                "own"),      # GPFS-47
    Row("negative_displacement", "ParameterError displacement",          "own"),
    Row("unknown_datarep",       "ParameterError datarep",               "own"),
    Row("uncommitted_type",      "nothing",                              "none"),
    Row("set_size_differs",      "InconsistentArgumentsError size",      "differs"),
    Row("seek_shared_differs",   "InconsistentArgumentsError offset",    "differs"),
    Row("write_read_only",       "FileAccessError ERR_READ_ONLY",        "every"),
]
FULL_DISK = [
    Row("size_limit",            "FileAccessError ERR_IO",               "own",     mpich_only=SILENT),   # GPFS-49
    Row("device_full",           "FileAccessError ERR_IO",               "every",   mpich_only=SILENT),
    Row("raw_loop",              "FileAccessError ERR_IO",               "own",     mpich_only=SILENT),   # GPFS-54
]
MORE = [
    Row("missing_everywhere",    "FileAccessError ERR_NO_SUCH_FILE",     "every"),    # ERR-05
    Row("open_directory",        "FileAccessError ERR_BAD_FILE",         "every"),
    Row("two_access_modes",      "FileAccessError ERR_AMODE",            "own"),
    Row("read_write_only",       "FileAccessError ERR_ACCESS",           "every"),
    Row("preallocate_differs",   "InconsistentArgumentsError size",      "differs"),  # GPFS-51
    Row("atomicity_differs",     "InconsistentArgumentsError flag",      "differs"),
    Row("shared_views_differ",   "InconsistentArgumentsError view",      "differs"),  # ENV-04
    Row("calls_differ",          "InconsistentArgumentsError call",      "differs"),
    Row("growing_buffer",        "HintValueError",                       "own",     mpich_only="no such hint"), # GEN-13
    Row("broken_etype",          "ParameterError filetype",              "own"),      # ENV-16
    Row("broken_element",        "ParameterError length",                "own"),
    Row("short_buffer",          "ParameterError buffer length",         "own"),
    Row("short_read",            "ShortTransferError",                   "own",       # ERR-07
        mpich_only="Open MPI counts a collective read past the end as complete"),
    Row("phase_fails",           "ParameterError offset",                "own"),      # GPFS-54
    Row("phase_left",            "ZeroDivisionError",                    "own"),      # ERR-13
    Row("block_left",            "ZeroDivisionError",                    "own"),
    Row("block_left_early",      "ZeroDivisionError",                    "own"),
    Row("closed_in_finally",     "InconsistentArgumentsError call",      "differs"),
    Row("file_in_file",          "ParameterError offset",                "own"),
    Row("opens_fail_often",      "nothing",                              "none"),
    Row("raw_loop_bad",          "ParameterError offset",                "own"),      # GPFS-54
    Row("raw_loop_uneven",       "InconsistentArgumentsError number of calls", "differs"),
    Row("trace_bad",             "ParameterError PARIO_TRACE",           "own"),      # GPFS-55
    Row("twelve_calls",          "nothing",                              "none"),     # MODEL-06
]
IN_DEVELOP_MODE = [
    Row("develop_file",          "InconsistentArgumentsError file",       "differs", develop=True),  # GPFS-51
    Row("develop_same_file",     "nothing",                               "none",    develop=True),
    Row("develop_info",          "InconsistentArgumentsError info",       "differs", develop=True),
    Row("develop_etype",         "InconsistentArgumentsError etype size", "differs", develop=True),
    Row("develop_one_task",      "InconsistentArgumentsError etype size", "differs"),
    Row("amode_mismatch",        "InconsistentArgumentsError amode",      "differs", develop=True),
    Row("seek_shared_differs",   "InconsistentArgumentsError offset",     "differs", develop=True),
    Row("calls_differ",          "InconsistentArgumentsError call",       "differs", develop=True),
    Row("negative_displacement", "ParameterError displacement",           "own",     develop=True),
    Row("phase_left",            "ZeroDivisionError",                     "own",     develop=True),
    Row("closed_in_finally",     "InconsistentArgumentsError call",       "differs", develop=True),
    Row("twelve_calls",          "nothing",                               "none",    develop=True),
]
# fmt: on


def name(row: Row) -> str:
    return row.case + ("-develop" if row.develop else "")


def run_case(case: str, n: int, directory: Path, **env: str) -> list[dict[str, Any]]:
    """The record of each task; a job that hangs or ends badly is a failure."""
    result = run_ranks([str(CASES / f"{case}.py"), str(directory)], n, LIMIT_S, env)
    assert not result.timed_out, f"{case} hangs:\n{result.stdout}\n{result.stderr}"
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    assert [record["rank"] for record in result.records] == list(range(n))
    return result.records


def describe(record: dict[str, Any]) -> str:
    """The error of one task and what it is about, in the words of the table."""
    about = record.get("error_class") or record.get("name") or " ".join(record.get("arguments", []))
    return f"{record['error'] or 'nothing'} {about}".strip()


def expect(row: Row, n: int, records: list[dict[str, Any]]) -> None:
    found = [describe(record) for record in records]
    if row.spread == "own":
        # GPFS-48: each task has its own error or the one that names who failed.
        assert found == ["RemoteTaskError"] * (n - 1) + [row.error]
        assert all(record["ranks"] == [n - 1] for record in records[:-1])
    elif row.spread == "differs":
        # GPFS-52: one differs from all others, so two neighbours see a difference, and all tasks hear of it.
        assert found == [row.error if n > 1 else "nothing"] * n
        assert all(record["ranks"] == [n - 2, n - 1] for record in records if n > 1)
    else:
        assert found == [row.error] * n


def check(row: Row, n: int, directory: Path) -> None:
    if row.mpich_only and is_openmpi():
        pytest.skip(row.mpich_only)
    expect(row, n, run_case(row.case, n, directory, **(DEVELOP if row.develop else {})))


@pytest.mark.parametrize("n", [1, 2, THREE, 4])
@pytest.mark.parametrize("row", GPFS_53, ids=name)
def test_each_task_gets_the_right_error(row: Row, n: int, tmp_path: Path) -> None:
    check(row, n, tmp_path)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("row", FULL_DISK, ids=name)
def test_one_sided_failures_of_the_disk_reach_all(row: Row, n: int, tmp_path: Path) -> None:
    check(row, n, tmp_path)


@pytest.mark.parametrize("n", [1, THREE])
@pytest.mark.parametrize("row", MORE, ids=name)
def test_other_errors(row: Row, n: int, tmp_path: Path) -> None:
    check(row, n, tmp_path)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("row", IN_DEVELOP_MODE, ids=name)
def test_develop_mode(row: Row, n: int, tmp_path: Path) -> None:
    check(row, n, tmp_path)


def test_develop_mode_puts_the_mismatch_first(tmp_path: Path) -> None:
    """GPFS-52: a wrong and differing argument is reported as differing, with the task's own error as the cause."""
    records = run_case("unknown_datarep", 3, tmp_path, **DEVELOP)
    assert {describe(record) for record in records} == {"InconsistentArgumentsError datarep"}
    assert [record["cause"] for record in records] == ["NoneType", "NoneType", "ParameterError"]


@pytest.mark.parametrize("n", [2, THREE])
def test_stale_lock_is_released(n: int, tmp_path: Path) -> None:
    """A failed strided write of MPICH keeps a record lock; without the cure the second writer waits for ever."""
    records = run_case("stale_lock", n, tmp_path)
    assert [record["error"] for record in records] == ["RemoteTaskError"] * (n - 1) + ["FileAccessError"]


@pytest.mark.openmpi
def test_file_of_some_tasks(tmp_path: Path) -> None:
    """The odd tasks share a file, rank 3 errs: rank 1 hears of it, the even tasks have nothing to do with it."""
    records = run_case("half_of_the_tasks", 4, tmp_path)
    assert [describe(record) for record in records] == [
        "nothing",
        "RemoteTaskError",
        "nothing",
        "ParameterError offset",
    ]
    assert records[1]["ranks"] == [3]


@pytest.mark.parametrize("n", [1, THREE])
def test_exclusive_creation(n: int, tmp_path: Path) -> None:
    """ENV-18: MPICH gives the reason to the first task and a vague error to the rest, which become RemoteTaskError."""
    first, *rest = run_case("exists_already", n, tmp_path)
    assert describe(first) == "FileAccessError ERR_FILE_EXISTS"
    for record in rest:
        assert describe(record) == describe(first) or (record["error"], record["ranks"]) == ("RemoteTaskError", [0])


@pytest.mark.parametrize("n", [1, THREE])
def test_view_that_only_the_library_refuses(n: int, tmp_path: Path) -> None:
    """The class differs between libraries, the tasks that get it do not."""
    *others, last = run_case("decreasing_view", n, tmp_path)
    assert last["error"] == "FileAccessError"
    assert [record["error"] for record in others] == ["RemoteTaskError"] * (n - 1)


@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.openmpi)])
def test_more_than_two_gibibytes(n: int, tmp_path: Path) -> None:
    """ENV-05: counted right by MPICH; a library without large counts refuses, and says so on all tasks."""
    records = run_case("large_count", n, tmp_path)
    if is_openmpi():
        assert {describe(record) for record in records} == {"ParameterError count"}
        expect(Row("", "ParameterError count", "own"), n, run_case("large_count_one_task", n, tmp_path))
    else:
        assert [record["facts"]["moved"] for record in records] == [(1 << 31) + 4096] * n


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A directory with a file system of 256 KiB in it."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small tmpfs to fill it up")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {mounted.stderr.strip()}")
    yield tmp_path
    subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.rootonly
@pytest.mark.skipif(is_openmpi(), reason=SILENT)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_full_disk(n: int, small_disk: Path) -> None:
    """GPFS-49: whoever found room, no task reports success."""
    records = run_case("disk_full", n, small_disk)
    failed = [record["rank"] for record in records if describe(record) == "FileAccessError ERR_IO"]
    assert failed
    for record in records:
        assert record["rank"] in failed or (record["error"], record["ranks"]) == ("RemoteTaskError", failed)


@pytest.mark.parametrize("n", [1, THREE])
def test_trace_of_each_task(n: int, tmp_path: Path) -> None:
    """GPFS-55..57: one file per task with all its operations, and the error on the task that had it."""
    traces = tmp_path / "traces"
    traces.mkdir()
    run_case("trace_all", n, tmp_path, PARIO_TRACE="all", PARIO_TRACE_DIR=str(traces), SLURM_JOB_ID="417")
    for rank in range(n):
        (path,) = traces.glob(f"pario-trace-417-rank{rank:05d}-{os.uname().nodename}-*.jsonl")
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert lines[0]["op"] == "open"
        first = next(line for line in lines if line["op"] == "write_at_all")
        assert (first["rank"], first["offset"], first["length"], first["result"]) == (rank, rank * 100, 100, 100)
        errors = [(line["op"], line["error"]) for line in lines if "error" in line]
        assert errors == ([("write_at_all", "ParameterError")] if rank == n - 1 else [])


@pytest.mark.openmpi
def test_trace_of_errors_only(tmp_path: Path) -> None:
    """GPFS-55: a task without an error has no file."""
    run_case("trace_all", 3, tmp_path, PARIO_TRACE="errors", PARIO_TRACE_DIR=str(tmp_path), SLURM_JOB_ID="417")
    (path,) = tmp_path.glob("pario-trace-*")
    assert "rank00002" in path.name
    assert len(path.read_text().splitlines()) == 1


@pytest.mark.openmpi
def test_jobs_that_never_end_are_killed(tmp_path: Path) -> None:
    """The launcher of these tests leaves no process behind."""
    result = run_ranks([str(CASES / "never_ends.py"), str(tmp_path)], 3, timeout=8)
    assert result.timed_out
    pids = [record["pid"] for record in result.records]
    assert len(pids) == 3
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
