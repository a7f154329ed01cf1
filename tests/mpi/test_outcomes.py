"""One table of what happens to a job: case × ranks × outcome × line. The culprit is always the last rank."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.mpi.jobs import CASES, hub_processes, run_pytest

ANY = None


@dataclass(frozen=True)
class Row:
    """What is expected of a case with several ranks; `alone` is what differs with one."""

    case: str
    status: int | None
    counts: dict[str, int] | None
    line: str
    alone: dict[str, object] = field(default_factory=dict)
    openmpi: bool = False
    options: tuple[str, ...] = ()
    named: bool = False
    """The last rank has died and is named: first, or among those that were gone in the same moment."""


def count(**counts: int) -> dict[str, int]:
    return counts


def failures_and_skips(told: Path | dict[str, int]) -> tuple[int, int]:
    """What pytest's last line and junit's file must agree about; junit counts an expected failure as skipped."""
    if isinstance(told, dict):
        return told.get("failed", 0) + told.get("error", 0), told.get("skipped", 0) + told.get("xfailed", 0)
    cases = ET.parse(told)
    return len(cases.findall(".//failure")) + len(cases.findall(".//error")), len(cases.findall(".//skipped"))


# fmt: off
TABLE = [
    Row("fails", 1, count(failed=1, passed=1), "rank {last} of {n}: assert", {"line": "assert 0 < (1 - 1)"},
        openmpi=True),
    Row("fails_before_collective", 1, count(failed=1, passed=1),
        "rank {last} failed in fails_before_collective.py::test_others_wait [call] and the others did not follow",
        {"counts": count(failed=1, passed=2), "line": "this rank gave up"}, openmpi=True),
    Row("fails_differently", 1, count(failed=2), "second kind", {"line": "first kind"}),
    Row("fails_in_setup", 1, count(error=1, passed=1), "rank {last} of {n}: OSError: no scratch space here",
        {"line": "OSError: no scratch space here"}),
    Row("fails_in_teardown", 1, count(error=1, passed=2), "rank {last} of {n}: OSError: cannot remove the file",
        {"line": "OSError: cannot remove the file"}),
    Row("remote_error", 1, count(failed=1), "rank {last} of {n}: OSError: disk full on this rank",
        {"line": "disk full"}),
    Row("skips_on_one", 1, count(failed=1), "ranks disagree: rank {last} skipped (not on this rank)",
        {"status": 0, "counts": count(skipped=1), "line": "not on this rank"}, openmpi=True),
    Row("skips_on_all", 0, count(skipped=2), "nowhere"),
    Row("xfails", 1, count(xfailed=2, failed=1), "[XPASS(strict)] fixed everywhere", openmpi=True),
    Row("xfails_on_root", 1, count(failed=2), "rank {last} of {n}: OSError: new on this rank",
        {"line": "OSError: new on this rank"}),
    Row("subtests_differ", 1, count(failed=1, passed=2),
        "ranks disagree about the number of subtests: ", {"status": 0, "counts": count(passed=3), "line": "3 passed"}),
    Row("sys_exit", 1, count(failed=1, passed=1), "rank {last} of {n}: SystemExit: 3", {"line": "SystemExit: 3"}),
    Row("os_exit", ANY, ANY, "rank {last} (pid ", openmpi=True),
    Row("sigkill", ANY, ANY, "died in sigkill.py::test_dies [call]", openmpi=True, named=True),
    Row("segfault", ANY, ANY, "died in segfault.py::test_dies [call]", openmpi=True, named=True),
    Row("hub_dies", 3, ANY, "is gone, and without it no rank is watched: the job ends; hub_dies.py::test_loses_the_hub "
        "was running and need not be the cause\npario: go on with --pario-resume ", openmpi=True),
    Row("loops", 1, count(failed=1, passed=1),
        "no end of loops.py::test_loops [call] within 1 s: rank {last} in test body at loops.py:", openmpi=True),
    # GPFS-53, GEN-09, ERR-12: a task that never calls ends by the watchdog with a diagnosis of who is missing
    Row("never_calls", 1, count(failed=1), "rank {last} in sleep at never_calls.py:11", openmpi=True),
    Row("holds_the_lock", ANY, ANY, "rank {last} in no answer",
        {"line": "no end of holds_the_lock.py::test_stuck_in_c"}),
    Row("collects_differently", 4, ANY,
        "rank {last} has collects_differently.py::test_everywhere as test 1 where root has "
        "collects_differently.py::test_not_on_the_last",
        {"status": 0, "counts": count(passed=2), "line": "2 passed"}, openmpi=True),
    Row("collection_error", 2, count(error=1), "rank {last} of {n}: ImportError: library missing on this host",
        {"line": "ImportError: library missing on this host"}),
    # alone the rank is interrupted; the others are stuck inside MPI, so that the job ends
    Row("hangs_in_collection", 1, ANY, "rank {last} in sleep at hangs_in_collection.py:",
        {"status": 2, "counts": count(error=1), "line": "no end of the session (collection) within 3 s: rank 0 in"},
        openmpi=True, options=("--pario-timeout=3",)),
    Row("prints_a_lot", 1, count(failed=1, passed=1), "characters left out",
        {"line": "line 199999 of very many"}, openmpi=True),
    Row("keyboard_interrupt", 2, count(passed=1), "rank {last}: KeyboardInterrupt", {"line": "KeyboardInterrupt"},
        openmpi=True),
    Row("pytest_exit", 7, count(passed=1), "rank {last}: Exit: seen enough", {"line": "1 passed"}),
    Row("fewer_ranks", 0, ANY, "needs 64 ranks, this job has {n}"),
]
# fmt: on

PARAMETERS = [
    pytest.param(
        row, ranks, id=f"{row.case}-{ranks}", marks=[pytest.mark.openmpi] if row.openmpi and ranks == 3 else []
    )
    for row in TABLE
    for ranks in (1, 2, 3, 4)
]


@pytest.mark.parametrize(("row", "ranks"), PARAMETERS)
def test_outcome(row: Row, ranks: int, tmp_path: Path) -> None:
    shutil.copy(CASES / f"{row.case}.py", tmp_path)
    options = ("-rA", "--pario-grace=1", "--junitxml=junit.xml", *row.options)
    job = run_pytest(ranks, *options, f"{row.case}.py", directory=tmp_path)
    expected = {"status": row.status, "counts": row.counts, "line": row.line, **(row.alone if ranks == 1 else {})}
    line = str(expected["line"]).format(last=ranks - 1, n=ranks)
    assert line in job.output, job.output
    assert not row.named or f"rank {ranks - 1} (pid " in job.output, job.output
    if expected["status"] is not ANY:
        assert job.status == expected["status"], job.output
    else:
        assert job.status != 0, job.output
    if expected["counts"] is not ANY:
        assert job.counts() == expected["counts"], job.output
        assert failures_and_skips(tmp_path / "junit.xml") == failures_and_skips(job.counts()), job.output
    assert ranks == 1 or len(job.output) < 400_000  # alone it is as with stock pytest
    assert hub_processes(tmp_path) == []
