"""The suite of interactive use, small files and metadata on real ranks, and what it finds when something is wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_pario.baseline.series import read_entry
from pytest_pario.patterns import client_sweep
from tests.mpi.jobs import Job, run_pytest

ROOT = Path(__file__).parents[2]
SUITE = str(ROOT / "suites" / "test_consortium_files.py")


def run_suite(ranks: int, directory: Path, *arguments: str, **environment: str) -> tuple[Job, dict[str, Any]]:
    """Run the suite with its scratch below `directory`; the job and its benchmarks by name."""
    (directory / "scratch").mkdir()
    files = [f"--benchmark-json={directory / 'b.json'}", f"--pario-journal={directory / 'j.jsonl'}"]
    scratch = ["--pario-dir", str(directory / "scratch"), "--rootdir", str(ROOT)]
    job = run_pytest(ranks, *files, *scratch, SUITE, *arguments, directory=directory, environment=environment)
    saved = json.loads((directory / "b.json").read_text())["benchmarks"] if (directory / "b.json").exists() else []
    return job, {one["name"]: one for one in saved}


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_the_suite_passes_and_keeps_every_phase(tmp_path: Path, ranks: int) -> None:
    # CONS-09, GEN-17: 16 tests of small files and 8 of metadata on each number of clients, 9 interactive on 1 and all
    expected = 24 * len(client_sweep(ranks)) + 9 * len({1, ranks})
    asked = ["files_per_client=5", "repetitions=2", "hint:no_such_hint=7"]
    given = [word for one in asked for word in ("--pario-param", one)]
    job, saved = run_suite(ranks, tmp_path, *given, FILES_PER_CLIENT="7", FILES="5", CB_NODES="1")
    assert (job.status, job.counts()) == (0, {"passed": expected}), job.output
    assert len(saved) == expected
    assert list((tmp_path / "scratch").iterdir()) == []
    # CONS-07, CONS-34, CONS-54, CONS-71
    info = saved[f"test_small_files[{ranks}-clients-4096-0-own-create]"]["extra_info"]
    assert info["operations"] == [5 * ranks] * 2
    assert info["moved_bytes"] == [5 * ranks * 4096] * 2
    assert info["timed"] == ["open (create, exclusive)", "write", "close"]
    assert info["parameters"]["files_per_client"] == {"value": 5, "origin": "command line"}
    assert "files" not in info["parameters"]  # of the tree, which this test does not use
    tree = saved[f"test_interactive[{ranks}-clients-copy-tree]"]["extra_info"]["parameters"]
    assert tree["files"] == {"value": 5, "origin": "environment"}
    assert info["parameters"]["file_size"] == {"value": 4096, "origin": "suite table"}
    assert info["between_processes"][0]["count"] == ranks
    assert ("oversubscribed" in info["flags"]) == (ranks > len(os.sched_getaffinity(0)))  # GEN-19
    assert set(info["parts"][0]) == {"open", "write", "close"}
    assert all(cost > 0 for cost in info["data_s"] + info["naming_s"])  # CONS-72
    # CONS-31, CONS-38: one host, so that the span is known; it is no shorter than the slowest process but for the clock
    seconds = saved[f"test_small_files[{ranks}-clients-4096-0-own-create]"]["stats"]["data"]
    assert all(span > 0.9 * slowest for span, slowest in zip(info["span_s"], seconds, strict=True))
    for name in (
        "small_files[{}-clients-4096-0-own-read]",
        "metadata[{}-clients-collective-open]",
        "metadata[{}-clients-independent-delete]",
        "interactive[{}-clients-copy-tree]",
    ):
        check_fields(saved[f"test_{name.format(ranks)}"]["extra_info"], ranks)
    assert "cb_nodes" not in tree
    # CONS-56, CONS-57, GEN-12: hints reach files that hold no data
    for test in ("collective-create", "independent-resize", "collective-delete"):
        told = saved[f"test_metadata[{ranks}-clients-{test}]"]["extra_info"]
        assert told["hints_requested"] == {"cb_nodes": "1", "no_such_hint": "7"}
        assert told["hints"]["dropped"] == {"no_such_hint": "7"}
        assert told["hints"]["accepted"]["cb_nodes"] == "1"
        assert told["parameters"]["cb_nodes"] == {"value": "1", "origin": "environment"}
    # a night of another filesystem is another series, and reads are held against reads only
    sample = read_entry(saved[f"test_small_files[{ranks}-clients-4096-0-own-read]"])
    assert sample is not None
    assert (sample.series.phase, sample.series.direction, sample.series.ranks) == ("read", "read", ranks)
    assert sample.series.filesystem.startswith(info["fingerprint"]["filesystem_type"] + ":")


def check_fields(info: dict[str, Any], ranks: int) -> None:
    """GEN-14: whatever was measured, its record tells where, when, with what, and who else was there."""
    assert {"phase", "seed", "date", "ranks", "flags", "parameters", "hints_requested", "hints"} <= set(info)
    assert (info["cache_state"], info["error_count"]) == ("unknown", 0)
    assert set(info["load"]) >= {"load_average", "other_cpu_share", "steal_share", "polluted"}
    assert ("polluted" in info["flags"]) == info["load"]["polluted"]
    versions = {"mpi_library", "mpi4py", "numpy", "kernel", "python", "pytest_pario"}
    place = {"filesystem_type", "block_bytes", "free_bytes", "hostnames"}
    assert versions | place <= set(info["fingerprint"])
    assert info["fingerprint"]["ranks"] == ranks


def test_others_work_in_the_background(tmp_path: Path) -> None:
    # CONS-69
    job, saved = run_suite(3, tmp_path, "-k", "interactive and copy", FILES="200")
    assert job.status == 0, job.output
    alone = saved["test_interactive[1-clients-copy-tree]"]["extra_info"]
    assert (alone["background_processes"], alone["background_bytes"]) == (0, [])
    among = saved["test_interactive[3-clients-copy-tree]"]["extra_info"]
    assert among["background_processes"] == 2
    assert all(moved > 0 for moved in among["background_bytes"])
    assert {"min", "mean", "max", "deviation_population"} <= set(among["between_rounds"])  # CONS-70


def test_the_sets_can_be_chosen(tmp_path: Path) -> None:
    # CONS-01
    job, saved = run_suite(1, tmp_path, "-m", "extended", FILES_PER_CLIENT="2")
    assert job.status == 0, job.output
    # CONS-73: each operation in both modes, of which the collective one is concise
    for operation in ("create", "open", "resize", "delete"):
        assert saved[f"test_metadata[1-clients-independent-{operation}]"]["extra_info"]["seconds_per_operation"]
    assert not any("collective" in name or "interactive" in name for name in saved)


def test_a_bad_parameter_is_refused_before_any_io(tmp_path: Path) -> None:
    # CONS-53, ERR-01
    job, _ = run_suite(2, tmp_path, "-k", "small_files", FILES_PER_CLIENT="0")
    assert job.status == 4, job.output  # refused once, before any test
    assert job.output.count("files_per_client = '0' (from environment): must be a whole number, 1 to") == 1


def test_an_unknown_parameter_lists_what_there_is(tmp_path: Path) -> None:
    # ERR-02
    job, _ = run_suite(2, tmp_path, "-k", "2-clients and 4096-0-own-create", "--pario-param", "file_sise=1")
    assert job.status == 4, job.output  # refused once, before any test
    assert "unknown parameter 'file_sise'; known: " in job.output


# Negative controls: each is one test of a user; the job must fail with the sentence.
SMALL = """
from pathlib import Path
from pytest_pario.patterns import Files
from pytest_pario.workloads.consortium.smallfiles import SmallFiles
from pytest_pario.workloads.consortium.phases import settle

def test_wrong(comm, scratch_dir):
    files = SmallFiles(comm, scratch_dir, Files(count=4, size=1000, own_directory=True))
    files.make()
    victim = scratch_dir / "rank00000" / "000002"
    if comm.rank == comm.size - 1:
        {harm}
    comm.Barrier()
    settle(comm, "check", files.{check})

def test_next(comm):
    comm.Barrier()
"""
FLIP = "victim.write_bytes(victim.read_bytes()[:500] + b'\\0' + victim.read_bytes()[501:])"
SWAP = "victim.write_bytes((scratch_dir / 'rank00000' / '000001').read_bytes())"
DAMAGE = [
    (FLIP, "check_created", "rank00000/000002: 1 wrong byte, first at offset 500: expected 0x"),
    (SWAP, "check_created", "rank00000/000002: 99"),
    ("victim.write_bytes(victim.read_bytes()[:-1])", "check_created", "found end of file"),
    ("victim.unlink()", "check_created", "after create {total} files should exist; 1 missing: rank00000/000002"),
    ("victim.with_name('extra').touch()", "check_created", "1 that should not be there: rank00000/extra"),
    (
        "victim.touch()",
        "check_gone",
        "after unlink 0 files should exist; {total} that should not be there: rank00000/0000",
    ),
]


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(("harm", "check", "sentence"), DAMAGE)
def test_damage_is_caught_and_named(tmp_path: Path, ranks: int, harm: str, check: str, sentence: str) -> None:
    # GEN-07, CONS-74
    (tmp_path / "test_harm.py").write_text(SMALL.format(harm=harm, check=check))
    job = run_pytest(ranks, "--pario-dir", str(tmp_path), "test_harm.py", directory=tmp_path)
    assert job.counts() == {"failed": 1, "passed": 1}, job.output
    assert "VerificationError: small-files: " in job.output
    assert sentence.format(total=4 * ranks) in job.output
    assert list(tmp_path.glob("pario-*")) == []


LATE = """
import os
import pytest
from pytest_pario.patterns import Files
from pytest_pario.workloads.consortium import background, metadata, smallfiles
from pytest_pario.workloads.consortium.interactive import measure_operation
from pytest_pario.workloads.consortium.tools import find_tool
from pytest_pario.workloads.consortium.tree import Tree

def test_unlink_that_does_nothing(comm, scratch_dir, monkeypatch):
    files = smallfiles.SmallFiles(comm, scratch_dir, Files(count=3, size=10))
    if comm.rank == 1:
        monkeypatch.setattr(os, "unlink", lambda path, **_: None)
    files.measure("unlink", rounds=1)

def test_read_of_old_data(comm, scratch_dir, monkeypatch):
    files = smallfiles.SmallFiles(comm, scratch_dir, Files(count=3, size=10))
    if comm.rank == 1:
        monkeypatch.setattr(smallfiles, "_read", lambda handle, room: None)
    files.measure("read", rounds=1)

def test_name_of_somebody_else(comm, scratch_dir):
    if comm.rank == 0:
        (scratch_dir / "stranger").touch()
    metadata.Metadata(comm, scratch_dir, 3, collective=True).measure("create", rounds=1)

def test_background_that_fails(comm, scratch_dir):
    (scratch_dir / f"background.{comm.rank:05d}").mkdir()
    measure_operation(comm, scratch_dir, find_tool("list"), Tree(3, 10, 1, 100), 2)

def test_user_that_fails(comm, scratch_dir, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    measure_operation(comm, scratch_dir, find_tool("list"), Tree(3, 10, 1, 100), 2)

def test_next(comm):
    comm.Barrier()
"""


@pytest.mark.openmpi
def test_nobody_is_left_waiting_when_something_fails(tmp_path: Path) -> None:
    # ERR-13
    (tmp_path / "test_late.py").write_text(LATE)
    job = run_pytest(3, "--pario-dir", str(tmp_path), "test_late.py", directory=tmp_path)
    assert job.counts() == {"failed": 5, "passed": 1}, job.output
    for sentence in (
        "rank 0 of 3: pytest_pario.errors.VerificationError: small-files: ",
        "3 that should not be there: rank00001.000000, rank00001.000001, rank00001.000002",
        "rank 1 of 3: pytest_pario.errors.VerificationError: small-files: ",
        "1 that should not be there: stranger",
        "IsADirectoryError",
        "No such file or directory: 'ls'",
    ):
        assert sentence in job.output, job.output
    assert list(tmp_path.glob("pario-*")) == []
