"""b_eff_io under mpiexec: every byte, the order, what is incomplete, and what is refused before any I/O."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_pario import __version__
from pytest_pario.cli import main
from pytest_pario.workloads.beffio.table import ROWS
from tests.mpi.jobs import Job, fast_scratch, run_pytest
from tests.mpi.launching import MPIEXEC, is_openmpi, missing_reason, run_ranks

ROOT = Path(__file__).parents[2]
SUITE = str(ROOT / "suites" / "test_beffio.py")
CASE = Path(__file__).parent / "cases" / "beffio" / "every_byte.py"

pytestmark = pytest.mark.skipif(bool(missing_reason()), reason=str(missing_reason()))


# BEFF-13..19, BEFF-26, BEFF-27: types 0 to 4 written, rewritten in another generation, read
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


@pytest.mark.parametrize("word", ["", "keep", "unique"])
def test_modes_and_syncs_of_each_type(word: str, tmp_path: Path) -> None:  # BEFF-31, BEFF-32, BEFF-33
    with fast_scratch(tmp_path) as scratch:
        result = run_ranks([str(CASE.with_name("modes.py")), str(scratch), word], 2, timeout=200)
    assert result.returncode == 0, result.stderr[-3000:]
    unique = ["UNIQUE_OPEN"] if word == "unique" else []
    deleted = [] if word == "keep" else ["DELETE_ON_CLOSE"]
    # fmt: off
    modes = {
        "write":   sorted(["CREATE", "RDWR", *unique]),
        "rewrite": sorted(["RDWR", *unique]),
        "read":    sorted(["RDONLY", *deleted, *unique]),
    }
    # fmt: on
    told = [one for one in result.records if one["rank"] == 0]
    assert [(one["access"], one["kind"]) for one in told] == [(a, kind) for a in modes for kind in range(5)]
    for one in told:
        # opened once, closed once; a sync after the last call of each pattern that was written, none for reads
        assert one["opened"] == [modes[one["access"]]]
        assert one["closed"] == 1
        assert one["syncs"] == [0 if one["access"] == "read" else 1] * one["patterns"], one
        assert one["old_file_seen"] is (one["access"] != "write"), one


@dataclass(frozen=True)
class Suite:
    """What a job of the suite left."""

    job: Job
    told: dict[str, dict[str, Any]]
    """By name of the test, what was saved of it."""
    folder: Path
    overview: dict[str, Any]
    """What was saved of the run as a whole."""
    left: list[str]
    """Names of the files that stayed."""
    records: dict[str, dict[str, Any]]
    """By name of the test, its record."""

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
        left = sorted(path.name for path in scratch.rglob("*"))
        assert not left or "--pario-keep" in arguments
    data = json.loads(saved.read_text()) if saved.exists() and saved.stat().st_size else {}
    told = {one["name"]: one["extra_info"].get("beffio", {}) for one in data.get("benchmarks", [])}
    records = {one["name"]: one["extra_info"].get("record", {}) for one in data.get("benchmarks", [])}
    return Suite(job, told, folder, data.get("beffio", {}), left, records)


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
    # where a log can follow, every ten seconds
    assert "b_eff_io n=1 write scatter 1M: 0% done" in done.job.output
    assert done.overview["value_mb_s"] == system["value_mb_s"]
    assert {one["release"] for one in (*done.told.values(), done.overview)} == {
        f"pytest-pario {__version__}"
    }  # BEFF-67
    assert done.overview["header"]["host"]
    header = done.report("summary.txt")  # BEFF-04
    assert re.search(r"^  MPI library +\S+", header, re.MULTILINE)
    assert re.search(r"^  threads +1 of each process does I/O$", header, re.MULTILINE)


def test_sizes_of_files_are_told(tmp_path: Path) -> None:  # BEFF-66
    done = run_suite(tmp_path, 2, "-k", "n2 and not shared", "--pario-param", "beff_partitions=2")
    assert done.job.status == 0, done.job.output[-3000:]

    def sizes(access: str, kind: str) -> list[int]:
        names = [name for name in done.told if name.startswith(f"test_pattern[n2-{access}-{kind}-p")]
        return [done.records[name]["facts"]["coordinates"]["file_bytes"] for name in sorted(names)]

    def moved(access: str, kind: str) -> int:
        return sum(o["moved_bytes"] for n, o in done.told.items() if n.startswith(f"test_pattern[n2-{access}-{kind}-p"))

    # while it is written a file grows; when it is read it is whole
    assert sizes("write", "scatter") == sorted(set(sizes("write", "scatter")))
    assert set(sizes("read", "scatter")) == {moved("write", "scatter")} == {sizes("write", "scatter")[-1]}
    assert set(sizes("read", "separated")) == {moved("write", "separated") // 2}
    for kind in ("segmented", "seg_coll"):
        assert set(sizes("write", kind) + sizes("read", kind)) == {moved("write", kind)}


TAKEN = """
import os
import sys
from pathlib import Path

taken = Path(sys.argv[sys.argv.index("--pario-dir") + 1], f"pario-{os.getpid()}-beffio")
taken.mkdir()
(taken / f"other.{os.getpid()}").touch()
"""


def test_a_file_that_a_skipped_pattern_was_to_close(tmp_path: Path) -> None:  # GEN-16
    (tmp_path / "take.py").write_text(TAKEN)
    chosen = "(write and shared and not p16 and not rewrite) or (read and shared and not rewrite)"
    given = ["--pario-param", "beff_partitions=2", "--pario-keep"]
    done = run_suite(tmp_path, 2, "-k", f"test_pattern and ({chosen})", *given, "-rs", "-p", "take")
    assert done.job.status == 0, done.job.output[-3000:]
    assert "n2-read-shared-p16-1M+8: nothing to read" in done.job.output
    # the file and its directory, no side file of the shared pointer; what other runs kept under the same name
    assert [name for name in done.left if "beffio" not in name and "other" not in name] == ["n2-shared"]
    assert sum(name.endswith("-beffio-2") for name in done.left) == 1
    assert sum(name.startswith("other.") for name in done.left) == 2


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
    # yet what there is was saved, with what is missing
    assert done.overview["value_mb_s"] is None
    assert "n=2: write scatter" in done.overview["missing"]
    assert done.overview["settings"]["noshared"]
    assert {one["name"] for one in done.overview["criteria"]} >= {"complete", "time", "standard", "cache rule"}
    tables = done.overview["partitions"]["2"]["tables"]
    assert tables["read"]["1k"]["separated"] > 0
    assert tables["write"]["32k"]["scatter"] is None


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
        common += ["--pario-param", "beff_max_chunk=2M"]
        first = run_pytest(2, *common, "-p", "stop", "--pario-journal", "j.jsonl", directory=tmp_path)
        assert first.status != 0
        # a job that resumes goes on with the journal
        shutil.copy(tmp_path / "j.jsonl", tmp_path / "k.jsonl")
        second = run_pytest(2, *common, "--pario-resume", "j.jsonl", "-rs", directory=tmp_path)
        assert list(scratch.iterdir()) == []
        other = [*common, "--pario-param", "beff_unique_open=1"]
        third = run_pytest(2, *other, "--pario-resume", "k.jsonl", "-rs", directory=tmp_path)
    # three patterns of the first job, the others of the second: no value of the type
    assert "one job for all of it" in second.output, second.output[-3000:]
    # a job that asks for something else does not even see them
    assert "one job for all of it" not in third.output
    assert "incomplete: without p00, p01, p02" in third.output, third.output[-3000:]


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


REFUSING = """
from pytest_pario.access.chained import ChainedFile

real = ChainedFile.open

def refuse(self):
    if self.phase == "write" and "separated" in self._first.path.name:
        raise OSError("made to fail")
    return real(self)

ChainedFile.open = refuse
"""


def test_a_file_that_cannot_be_opened_fails_once(tmp_path: Path) -> None:
    (tmp_path / "refuse.py").write_text(REFUSING)
    given = ["--pario-param", "beff_partitions=2", "-p", "refuse", "-rsf"]
    done = run_suite(tmp_path, 2, *given, "-k", "test_pattern and (separated or (write and scatter))")
    counts = done.job.counts()
    assert (counts["failed"], counts["skipped"]) == (1, 15), done.job.output[-3000:]
    assert "its file was given up when n2-write-separated-p17-1M failed" in done.job.output


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
    (["--pario-param", "beff_hints=long.hints"],           "long.hints:1: value"),
    (["--pario-param", "beff_partitions=\u00b2"],           "whole numbers of 1 to 2"),
    (["--pario-param", "beff_report=bad.hints/report"],    "a prefix of files that can be written"),
    (["--pario-param", "beff_max_segment=1M"],             "6291456 B or more"),
    (["--pario-param", "beff_definition=0.9"],             "one of 1.x, 2.0"),
]
# fmt: on


@pytest.mark.parametrize(("arguments", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_refused_before_any_io(arguments: list[str], told: str, tmp_path: Path) -> None:  # BEFF-49, BEFF-56, BEFF-65
    (tmp_path / "bad.hints").write_text("# x\nall writing all on_open key value\n")
    (tmp_path / "long.hints").write_text(f"all all all on_open key {'v' * 1500}\n")
    done = run_suite(tmp_path, 2, *arguments)
    assert done.job.status == 4, done.job.output
    assert done.job.output.count(told) == 1, done.job.output
    assert done.told == {}


def test_another_strategy_is_no_benchmark_of_calls(tmp_path: Path) -> None:  # BEFF-03
    given = ["--pario-dir", str(tmp_path), "--pario-strategy", "two_phase:agents=1", "-rs"]
    job = run_pytest(2, SUITE, str(ROOT / "suites" / "test_btio.py"), *given, directory=tmp_path)
    assert job.status == 0, job.output[-3000:]
    assert set(job.counts()) == {"skipped"}
    for name in ("b_eff_io", "BTIO"):
        assert f"{name} is defined by the calls of the MPI library, not by --pario-strategy two_phase:" in job.output
    assert not list(tmp_path.glob("pario-*"))


def test_what_deciding_costs_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # BEFF-25, BEFF-28
    with fast_scratch(tmp_path) as scratch:
        given = ["--dir", str(scratch), "--limit", "2M", "--mpiexec", str(MPIEXEC)]
        assert main(["bench", "beffio", "--ranks", "2", "--time", "0.5", *given]) == 0
        assert list(scratch.iterdir()) == []
    told = capsys.readouterr().out
    rows = [line.split() for line in told.splitlines() if re.match(r"p\d\d ", line)]
    names = [row.name for row in ROWS if row.type <= 2 and row.units]
    assert [row[0] for row in rows] == names
    for row in rows:
        # name, type, chunk; calls, decisions and share of time by either rule, which decides after each call or fewer
        calls, decisions, lost, other_calls, other_decisions, other_lost = row[3:]
        assert 1 <= int(decisions) <= int(calls)
        assert 1 <= int(other_decisions) == int(other_calls)
        assert all(0 <= float(share.removesuffix("%")) <= 100 for share in (lost, other_lost))
    for rule in ("geometric", "per_call"):
        line = next(line for line in told.splitlines() if line.startswith(f"{rule}: "))
        assert re.search(r"time-driven loops [\d.]+ s, [\d.]+ of the scheduled 0\.15 s \(syncs [\d.]+ s more\)", line)
        assert re.search(r"in all write [\d.]+ s, rewrite [\d.]+ s, read [\d.]+ s", line)
        # one call of 2 MiB by each of two ranks is more than the limit
        ended = re.search(rf"; (\d+) of {len(names)} loops ended early, by bytes or free space", line)
        assert ended, told
        assert int(ended[1]) >= 3
