"""b_eff_io under mpiexec: every byte, the order, what is incomplete, and what is refused before any I/O."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.mpi.jobs import Job, fast_scratch, run_pytest
from tests.mpi.launching import is_openmpi, missing_reason, run_ranks

ROOT = Path(__file__).parents[2]
SUITE = str(ROOT / "suites" / "test_beffio.py")
CASE = Path(__file__).parent / "cases" / "beffio" / "every_byte.py"

pytestmark = pytest.mark.skipif(bool(missing_reason()), reason=str(missing_reason()))


# BEFF-13..19, BEFF-26, BEFF-27, BEFF-31, BEFF-32: types 0 to 4 written, rewritten in another generation, read
@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=pytest.mark.openmpi), 3, 4, 6])
def test_every_byte_of_every_pattern(ranks: int, tmp_path: Path) -> None:
    more = ["noshared"] if is_openmpi() else ["shared", *(["noshared"] if ranks <= 3 else [])]
    with fast_scratch(tmp_path) as scratch:
        result = run_ranks([str(CASE), str(scratch), *more], ranks, timeout=400)
        assert list(scratch.iterdir()) == []
    assert not result.timed_out, result.stderr[-2000:]
    assert result.returncode == 0, result.stderr[-3000:]
    told = result.records
    assert [one["ran"] for one in told] == [3 * 43] * len(more)
    for one in told:
        # the same repetitions in rewrite and read as in write, about log2 of them decisions
        assert one["replayed"]
        assert one["few_decisions"]
        assert one["per_call_decisions"]
        assert one["parts"] == [12, 21, 26, 12]
        # a byte that was changed behind the benchmark's back is found, in the file and on reading
        assert "wrong byte" in one["damaged_write"]
        assert "wrong byte" in one["damaged_read"]


@dataclass(frozen=True)
class Suite:
    """What a job of the suite left."""

    job: Job
    told: dict[str, dict[str, Any]]
    """By name of the test, what was saved of it."""
    folder: Path

    def report(self, name: str) -> str:
        """One of the files that were written."""
        return (self.folder / f"report.{name}").read_text()


def run_suite(folder: Path, ranks: int, *arguments: str) -> Suite:
    saved = folder / "saved.json"
    given = ["--benchmark-json", str(saved), "--pario-time", "0.6"]
    given += ["--pario-param", f"beff_report={folder / 'report'}", "--pario-param", "beff_limit=4M"]
    given += ["--pario-param", "beff_memory=256M", "--rootdir", str(folder)]
    with fast_scratch(folder) as scratch:
        job = run_pytest(ranks, SUITE, "--pario-dir", str(scratch), *given, *arguments, directory=folder)
        assert list(scratch.iterdir()) == []
    found = json.loads(saved.read_text())["benchmarks"] if saved.exists() and saved.stat().st_size else []
    return Suite(job, {one["name"]: one["extra_info"].get("beffio", {}) for one in found}, folder)


def test_the_whole_suite(tmp_path: Path) -> None:  # BEFF-01, BEFF-36..38, BEFF-50, BEFF-61..63
    done = run_suite(tmp_path, 2, "-v")
    steps = 2 * (43 + 9 + 43)
    assert done.job.counts() == {"passed": steps + 2 * 11 + 2 * 2 + 2 + 1}, done.job.output[-3000:]
    ran = re.findall(r"test_pattern\[(n\d)-(write|rewrite|read)-\w+-p00", done.job.output)
    order = [(n, access) for access in ("write", "rewrite", "read") for n in ("n1", "n2")]
    assert list(dict.fromkeys(ran)) == order
    system = done.told["test_system"]
    partitions = [done.told[f"test_partition[n{n}]"] for n in (1, 2)]
    assert system["value_mb_s"] == max(one["value_mb_s"] for one in partitions)
    assert all(one["by_definition"] == {"1.x": None, "2.0": one["value_mb_s"]} for one in partitions)
    # a type is its bytes over the time from open to close
    pieces = [one for name, one in done.told.items() if name.startswith("test_pattern[n2-read-scatter")]
    elapsed = sum(one["elapsed_s"] + (one["open_s"] or 0) + (one["close_s"] or 0) for one in pieces)
    value = done.told["test_type[n2-read-scatter]"]["value_mb_s"]
    assert value == pytest.approx(sum(one["moved_bytes"] for one in pieces) / elapsed / 1e6)
    assert done.report("summary.txt").count("\n  total ") == 6 + 1  # one of them the memory
    assert "LSEG" in done.report("protocol.txt")
    assert len(done.report("plot.csv").splitlines()) == 1 + 2 * (35 + 7 + 35)
    assert "NOT VALID for comparison" in done.job.output
    assert "b_eff_io n=1 write scatter 1M: 0% done" in done.job.output  # where a log can follow


@pytest.mark.openmpi
def test_a_part_is_never_taken_for_the_whole(tmp_path: Path) -> None:
    chosen = "scatter or separated or test_access or test_partition or test_system"
    given = ["--pario-param", "beff_partitions=2", "--pario-param", "beff_noshared=1"]
    done = run_suite(tmp_path, 2, "-k", f"({chosen}) and not p04", *given, "-rs")
    assert done.job.status == 0, done.job.output[-3000:]
    # without p04 the type has no value, and nothing that needs it has one
    assert "incomplete: without p04" in done.job.output
    assert "test_type[n2-write-separated]" in done.told
    assert not any(name.startswith(("test_access", "test_partition", "test_system")) for name in done.told)
    assert "incomplete, without n=2: write scatter" in done.job.output


def test_nothing_to_read(tmp_path: Path) -> None:
    done = run_suite(tmp_path, 1, "-k", "read and segmented and not rewrite", "-rs")
    assert "was not run or failed; select it too" in done.job.output
    assert done.job.counts() == {"skipped": 10, "deselected": done.job.counts()["deselected"]}
    assert done.told == {}


STOPPING = """
import os
from pytest_pario.workloads.beffio.execution import PartitionRun

real = PartitionRun.run

def stop(self, step, *, last):
    if step.row.name == "p03":
        os._exit(9)
    return real(self, step, last=last)

PartitionRun.run = stop
"""


def test_a_resumed_run_is_incomplete(tmp_path: Path) -> None:  # BEFF-29
    (tmp_path / "stop.py").write_text(STOPPING)
    given = ["--pario-param", "beff_partitions=2", "-k", "scatter and not rewrite"]
    with fast_scratch(tmp_path) as scratch:
        common = [SUITE, "--pario-dir", str(scratch), "--pario-time", "0.3", "--rootdir", str(tmp_path), *given]
        common += ["--pario-param", "beff_limit=4M", "--pario-param", f"beff_report={tmp_path / 'report'}"]
        first = run_pytest(2, *common, "-p", "stop", "--pario-journal", "j.jsonl", directory=tmp_path)
        assert first.status != 0
        second = run_pytest(2, *common, "--pario-resume", "j.jsonl", "-rs", directory=tmp_path)
        assert list(scratch.iterdir()) == []
    # three patterns of the first job, the others of the second: no value of the type
    assert "one job for all of it" in second.output, second.output[-3000:]


FAILING = """
from pytest_pario.errors import VerificationError
from pytest_pario.workloads.beffio.execution import PartitionRun

real = PartitionRun._verify

def fail(self, step, target, base, content):
    if step.row.name == "p11":
        raise VerificationError(step.id, "made to fail")
    real(self, step, target, base, content)

PartitionRun._verify = fail
"""


def test_a_failed_pattern_spoils_its_type_only(tmp_path: Path) -> None:
    (tmp_path / "spoil.py").write_text(FAILING)
    done = run_suite(tmp_path, 2, "--pario-param", "beff_partitions=2", "-p", "spoil", "-rsf", "-k", "not segmented")
    told = done.job.output
    assert done.job.status == 1
    assert "FAILED" in told
    assert "n2-write-shared-p11-1M: made to fail" in told
    # the rest of the type is given up, also its reading; so is what derives its repetitions from it
    assert done.job.counts()["failed"] == 1
    assert "its file was given up when n2-write-shared-p11-1M failed" in told
    whole = ("write-scatter", "write-separated", "rewrite-scatter", "read-scatter", "read-separated")
    assert {name for name in done.told if name.startswith("test_type")} == {f"test_type[n2-{one}]" for one in whole}
    assert "errors           not reached  1" in done.report("summary.txt")


def test_hints_of_an_options_file(tmp_path: Path) -> None:  # BEFF-53, BEFF-55, BEFF-57
    (tmp_path / "my.hints").write_text(
        "all all scatter on_open cb_buffer_size 4194304\n"
        "all all scatter 32768 cb_buffer_size 2097152\n"
        "all all segmented 1024 ind_wr_buffer_size 65536\n"
        "all all all on_open IBM_largeblock_io switchable\n"
    )
    hints = f"beff_hints={tmp_path / 'my.hints'}"
    done = run_suite(tmp_path, 2, "--pario-param", "beff_partitions=2", "--pario-param", hints, "-k", "not shared")
    assert done.job.status == 0, done.job.output[-3000:]

    def in_force(test: str) -> dict[str, str]:
        found: dict[str, str] = done.told[f"test_pattern[n2-write-{test}]"]["hints"]["in_force"]
        return found

    assert in_force("scatter-p00-1M")["cb_buffer_size"] == "4194304"
    assert in_force("scatter-p04-32k")["cb_buffer_size"] == "2097152"
    assert in_force("segmented-p29-1k")["ind_wr_buffer_size"] == "65536"
    dropped = done.told["test_pattern[n2-write-scatter-p00-1M]"]["hints"]["dropped"]
    assert dropped == {"IBM_largeblock_io": "switchable"}  # BEFF-58: let through, and told that it did not act
    assert "dropped: IBM_largeblock_io" in done.report("protocol.txt")


# fmt: off
REFUSED = [
    # arguments, what is said
    (["--pario-time", "0"],                                "positive number of seconds"),
    (["--pario-time", "-3"],                               "positive number of seconds"),
    (["--pario-param", "beff_partitions=3"],               "1 to 2, the ranks of this job"),
    (["--pario-param", "beff_memory=0"],                   "beff_memory"),
    (["--pario-param", "beff_segment_align=4T"],           "needs at least"),
    (["--pario-param", "beff_hints=bad.hints"],            "bad.hints:2: access"),
    (["--pario-param", "beff_definition=0.9"],             "one of 1.x, 2.0"),
]
# fmt: on


@pytest.mark.parametrize(("arguments", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_refused_before_any_io(arguments: list[str], told: str, tmp_path: Path) -> None:  # BEFF-49, BEFF-56, BEFF-65
    (tmp_path / "bad.hints").write_text("# x\nall writing all on_open key value\n")
    done = run_suite(tmp_path, 2, *arguments)
    assert done.job.status == 4, done.job.output
    assert done.job.output.count(told) == 1, done.job.output
    assert done.told == {}
