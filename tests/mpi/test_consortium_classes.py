"""The suites of patterns, classes and tiles on real ranks: what is recorded, what is withheld, what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.mpi.jobs import Job, run_pytest

SUITES = Path(__file__).parents[2] / "suites"
CLASSES = "test_consortium_classes.py"
PATTERNS = "test_consortium_patterns.py"


def run_suite(
    ranks: int, directory: Path, suite: str, *arguments: str, **environment: str
) -> tuple[Job, dict[str, dict[str, Any]]]:
    """Run a suite with its scratch below `directory`; the job, and extra_info of its benchmarks by name."""
    scratch = directory / "scratch"
    scratch.mkdir(exist_ok=True)
    files = [f"--benchmark-json={directory / 'b.json'}", f"--pario-journal={directory / 'j.jsonl'}", "-q"]
    given = [*files, "--pario-dir", str(scratch), "--rootdir", str(SUITES.parent), str(SUITES / suite)]
    job = run_pytest(ranks, *given, *arguments, directory=directory, environment=environment)
    assert list(scratch.iterdir()) == []
    if not (directory / "b.json").exists():
        return job, {}
    saved = json.loads((directory / "b.json").read_text())["benchmarks"]
    return job, {one["name"]: {**one["extra_info"], "seconds": one["stats"]["data"]} for one in saved}


@pytest.mark.parametrize("ranks", [1, 3])
def test_tiles_record_what_ran(ranks: int, tmp_path: Path) -> None:
    given = ["-k", "tile_io", "--pario-param", "filename=mine", "--pario-param", "sz_tile_y=32"]
    # CONS-64: of three ranks two have a tile, and a record of two ranks says nothing of the third
    asked, count = ({}, ranks) if ranks == 1 else ({"NR_TILES_X": "2"}, 2)
    job, saved = run_suite(ranks, tmp_path, CLASSES, *given, SZ_ELEMENT="5", **asked)
    assert job.counts()["passed"] == 4, job.output
    info = saved["test_tile_io[8-write]"]
    values = {name: (one["value"], one["origin"]) for name, one in info["parameters"].items()}
    # CONS-54, CONS-58: the parameters are those of the pattern, and no others
    assert values["nr_tiles_x"] == (count, "environment" if asked else "suite table")
    assert info["ranks"] == info["record"]["n"] == info["record"]["fingerprint"]["ranks"] == count
    assert values["overlap_x"] == (8, "suite table")
    assert values["sz_tile_y"] == (32, "command line")
    assert values["sz_element"] == (5, "environment")
    assert values["write_file"] == (True, "suite table")
    assert values["filename"] == ("mine", "command line")  # CONS-55
    assert "files_per_client" not in values
    pattern = info["record"]["pattern"]
    assert (pattern["name"], pattern["layout"].get("nx", 1)) == ("mine", count)
    # CONS-66: spread between processes of each phase, bandwidth by the largest I/O time
    samples = info["record"]["samples"]
    for phase in ("open", "io", "close"):
        assert {"min_s", "mean_s", "max_s", "variance_s2"} <= set(samples[phase][0])
    largest = samples["io"][0]["max_s"] + samples["sync"][0]["max_s"]
    assert info["tile_mib_s"][0] == pytest.approx(info["moved_bytes"][0] / largest / 2**20)
    # CONS-24: MiB/s over open to close
    assert info["seconds"] == pytest.approx(samples["elapsed_s"])
    assert samples["elapsed_s"][0] >= samples["io"][0]["max_s"]


OPENED = """
import pytest

from pytest_pario.access.target import Target
from pytest_pario.model import Open, Pattern
from pytest_pario.patterns import Tiles

@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("phase", ["write", "rewrite", "read"])
def test_who_opens(together, phase, comm, pario, scratch_dir):  # CONS-63
    tiles = Tiles(comm.size, 1, 64, 64, 3, 8)
    pattern = Pattern("t", tiles, together, open=Open(prefill=0xEE, alone=not together))
    target = Target(comm, pattern, scratch_dir / "t", {})
    assert target.file_comm.size == (comm.size if together else 1)
    assert pario.run(pattern, phase, rounds=2).samples.moved_bytes
"""


@pytest.mark.parametrize("ranks", [2, 3])
def test_independent_tiles_are_opened_by_each(ranks: int, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(OPENED)
    job = run_pytest(ranks, "test_it.py", f"--pario-dir={tmp_path}", "-q", directory=tmp_path)
    assert job.counts() == {"passed": 6}, job.output


# ERR-01: one sentence, once, before any test
REFUSED = [
    (["--pario-param=filename=/lustre/a/data.out"], {}, "filename = '/lustre/a/data.out' (from command line): must be"),
    ([], {"COLLECTIVE": "maybe"}, "collective = 'maybe' (from environment): must be a whole number (0 is no)"),
    (["--pario-param=block_size=10"], {"TRANSFER_SIZE": "3"}, "block_size = 10 (from command line): must be a whole"),
]


@pytest.mark.parametrize(("arguments", "environment", "sentence"), REFUSED, ids=["path", "environment", "together"])
def test_wrong_values_are_refused_once(
    arguments: list[str], environment: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    job, saved = run_suite(2, tmp_path, CLASSES, *arguments, **environment)
    assert (job.status, saved) == (4, {}), job.output
    assert job.output.count(sentence) == 1


def test_an_environment_of_others_is_no_concern_of_tests_without_parameters(tmp_path: Path) -> None:  # ERR-02
    (tmp_path / "test_it.py").write_text("def test_it(comm): pass\n")
    job = run_pytest(2, "test_it.py", "-q", directory=tmp_path, environment={"DIRECTORY": "/home/me"})
    assert job.counts() == {"passed": 1}, job.output


def test_an_overlap_is_blamed_on_who_gave_it(tmp_path: Path) -> None:  # ERR-01
    job, _ = run_suite(2, tmp_path, CLASSES, "-k", "tile_io and 8-read", "--pario-param", "overlap_x=5000")
    assert job.status == 1
    assert "overlap_x = 5000 (from command line): must be less than the 256 elements of a tile" in job.output


def test_memory_has_no_classes(tmp_path: Path) -> None:  # CONS-39, CONS-45
    if not str(tmp_path).startswith("/dev/shm"):
        pytest.skip("no room in memory")
    job, saved = run_suite(2, tmp_path, CLASSES, "-k", "test_class and 1MiB-ind")
    assert job.status == 0, job.output
    assert len(saved) == 4
    assert {info["label"] for info in saved.values()} == {"transfer rate"}
    assert all(any("tmpfs is memory" in reason for reason in info["withheld"]) for info in saved.values())


@pytest.mark.on_disk
def test_a_read_that_is_faster_than_the_device_has_no_class(tmp_path: Path) -> None:  # CONS-42, CONS-48
    # nothing is as slow as a thousandth of a MiB/s
    chosen = ["-k", "sustained-read-1MiB-ind", "--pario-device-rate", "0.001"]
    job, saved = run_suite(2, tmp_path, CLASSES, *chosen)
    assert job.status == 0, job.output
    (info,) = saved.values()
    assert info["label"] == "transfer rate"
    assert "faster_than_device" in info["record"]["flags"]
    assert any("--pario-device-rate" in reason for reason in info["withheld"])
    assert info["device_rate"] == "device up to 0 MiB/s: --pario-device-rate"


STILL_CACHED = """
from pytest_pario.model import Pattern
from pytest_pario.patterns import Segmented

def test_cached(pario, monkeypatch):
    monkeypatch.setattr("pytest_pario.measure.cache.evict", lambda path: None)
    record = pario.run(Pattern("plain", Segmented(1 << 20, (1 << 20,)), pointer="explicit"), "read", rounds=1)
    assert record.facts["cache"]["state"] == "cached"  # CONS-48: it is looked at, not believed
"""


@pytest.mark.on_disk
def test_a_cache_that_is_not_cold_is_seen_and_the_device_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(STILL_CACHED)
    job = run_pytest(2, "test_it.py", f"--pario-dir={tmp_path}", "--benchmark-json=b.json", "-q", directory=tmp_path)
    assert job.counts() == {"passed": 1}, job.output
    (saved,) = json.loads((tmp_path / "b.json").read_text())["benchmarks"]
    assert saved["extra_info"]["device_rate"].startswith("device ")
    assert not list(tmp_path.rglob("device-*"))


# CONS-09, GEN-17: the quick profile runs on all ranks, the others on 1, 2, … and all of them
@pytest.mark.parametrize(("profile", "counts"), [("quick", {3}), ("nightly", {1, 2, 3})])
def test_the_number_of_clients_is_swept(profile: str, counts: set[int], tmp_path: Path) -> None:
    asked = ["transfer_size=1K", "block_size=4K", "segments=2"]
    given = [word for pair in asked for word in ("--pario-param", pair)]
    job, saved = run_suite(3, tmp_path, PATTERNS, "-m", "concise", f"--pario-profile={profile}", *given)
    assert job.status == 0, job.output
    assert {info["ranks"] for info in saved.values()} == counts
    assert len(saved) == 8 * len(counts)
    assert ("rates against clients" in job.output) == (len(counts) > 1)
    # CONS-02: a rate of each test, and no number for them all
    assert not any(word in job.output.lower() for word in ("score", "overall", "total rate"))


def test_a_record_has_all_fields(tmp_path: Path) -> None:  # GEN-14
    ranks = len(os.sched_getaffinity(0)) + 1  # so that there is a flag
    job, saved = run_suite(ranks, tmp_path, PATTERNS, "-k", "segmented-32KiB-collective-read", CB_NODES="1")
    assert job.status == 0, job.output
    (info,) = saved.values()
    record = info["record"]
    assert {"pattern", "phase", "n", "seed", "samples", "facts", "fingerprint", "flags"} <= set(record)
    assert {"parameters", "date", "moved_bytes", "device_rate"} <= set(info)
    assert {"moved_bytes", "open", "io", "sync", "close", "span_s", "elapsed_s"} <= set(record["samples"])
    assert record["facts"]["hints_requested"] == {"cb_nodes": "1"}
    assert info["parameters"]["cb_nodes"] == {"value": "1", "origin": "environment"}
    assert record["facts"]["hints"]
    assert record["facts"]["cache"]["state"]
    versions = {"mpi_library", "mpi4py", "numpy", "kernel", "python", "pytest_pario"}
    place = {"filesystem_type", "block_bytes", "free_bytes", "hostnames"}
    assert versions | place <= set(record["fingerprint"])
    # one object per line holds the same
    lines = [json.loads(line) for line in (tmp_path / "j.jsonl").read_text().splitlines()]
    assert any(one["extra_info"]["record"] == record for line in lines for one in line.get("benchmark") or [])


REPEATED = """
from pytest_pario.model import Fixed, Pattern, Timed
from pytest_pario.patterns import Strided

def test_repetitions(pario, comm):  # MODEL-10: fixed; timed at the first write, replayed by what follows
    fixed = pario.run(Pattern("fixed", Strided(1024), pointer="explicit", repeat=Fixed(3)), "read", rounds=1)
    assert fixed.samples.moved_bytes == (3 * 1024 * comm.size,)

def test_timed(pario, comm):
    timed = pario.run(Pattern("timed", Strided(1024), repeat=Timed(0.15, 50, 150)), "read", rounds=2)
    count = timed.facts["time_driven"]["repetitions"]
    assert timed.samples.moved_bytes == (count * 1024 * comm.size,) * 2
"""


def test_repetition_controllers(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(REPEATED)
    job = run_pytest(2, "test_it.py", f"--pario-dir={tmp_path}", "-q", directory=tmp_path)
    assert job.counts() == {"passed": 2}, job.output


def test_allocation_and_sizes_reach_the_file(tmp_path: Path) -> None:  # CONS-46, CONS-51
    asked = ["allocation=preallocated", "transfer_size=64K", "header_bytes=777", "filename=mine"]
    given = [word for one in asked for word in ("--pario-param", one)]
    job, saved = run_suite(2, tmp_path, CLASSES, "-k", "sustained-write", *given, BLOCK_SIZE="256K")
    assert job.status == 0, job.output
    assert len(saved) == 3
    # CONS-55: what a run has no use for is told, and nothing else
    assert "parameters that no test used" in job.output
    assert "filename = mine (command line)" in job.output
    assert "header_bytes = " not in job.output
    for info in saved.values():
        assert info["record"]["facts"]["allocation"].startswith("preallocated")
        assert info["moved_bytes"] == [2 * 256 * 1024] * 3
