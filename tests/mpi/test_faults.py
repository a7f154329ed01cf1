"""A filesystem that loses, damages, refuses or stalls on one rank: seen, named, nobody hangs, nothing is left."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from pytest_pario.session.journal import read_entries
from tests.beds.faults import fault
from tests.mpi.jobs import Job, run_pario, run_pytest

SUITE = """
import pytest
from pytest_pario.model import Pattern
from pytest_pario.patterns import Segmented, Strided

ROWS = [
    Pattern("independent", Segmented(256 * 1024, (64 * 1024,) * 4), pointer="explicit"),
    Pattern("collective", Strided(4096, per_call=8, ncalls=4), coll=True),
    Pattern("posix", Segmented(256 * 1024, (64 * 1024,) * 4), pointer="explicit", api="posix"),
]

@pytest.mark.parametrize("phase", ["write", "read"])
@pytest.mark.parametrize("pattern", ROWS, ids=lambda row: row.name)
def test_bytes(pattern, phase, pario):
    pario.run(pattern, phase, rounds=1, warmup_rounds=0)

def test_after_it(comm):
    comm.Barrier()
"""

RANKS = 3


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "test_f.py").write_text(SUITE)
    (tmp_path / "scratch").mkdir()
    (tmp_path / "traces").mkdir()
    return tmp_path


def tracing(site: Path, mode: str, **more: str) -> dict[str, str]:
    return {"PARIO_TRACE": mode, "PARIO_TRACE_DIR": str(site / "traces"), **more}


def read_traces(site: Path) -> list[dict[str, object]]:
    return [json.loads(line) for path in (site / "traces").iterdir() for line in path.read_text().splitlines()]


def run(site: Path, selection: str, faults: dict[str, str], *arguments: str) -> Job:
    chosen = ["-k", f"({selection}) or after", "--pario-dir=scratch", "--pario-loop=auto", "-q", *arguments]
    return run_pytest(RANKS, "test_f.py", *chosen, directory=site, environment=faults)


# fmt: off
#    rows                 fault      on       rank  settings       what the report says
FAULTS = [
    ("independent-write", "lose",    "write", 1, {"from": 2, "times": 1}, "rank 1"),
    ("posix-write",       "lose",    "write", 2, {"from": 1, "times": 1}, "rank 2"),
    ("independent-write", "flip",    "write", 1, {"from": 2, "times": 1}, "rank 1"),
    ("collective-write",  "flip",    "write", 0, {"from": 1, "times": 1}, "wrong byte"),
    ("independent-read",  "flip",    "read",  2, {"from": 3, "times": 1}, "VerificationError"),
    ("posix-read",        "flip",    "read",  1, {"from": 3, "times": 1}, "VerificationError"),
    ("independent-write", "ENOSPC",  "write", 1, {"from": 2},             "No space left on device"),
    ("collective-write",  "ENOSPC",  "write", 0, {"from": 1},             "No space left on device"),
    ("posix-write",       "EDQUOT",  "write", 2, {"from": 2},             "Disk quota exceeded"),
    ("independent-write", "EIO",     "fsync", 1, {},                      "Input/output error"),
    ("independent-read",  "EIO",     "read",  1, {},                      "Input/output error"),
]
# fmt: on


@pytest.mark.parametrize(("rows", "kind", "op", "rank", "settings", "told"), FAULTS)
def test_a_fault_on_one_rank_is_told_once(
    rows: str, kind: str, op: str, rank: int, settings: dict[str, int], told: str, site: Path
) -> None:  # GEN-04, GEN-07, ERR-05, ERR-08, ERR-09, ERR-13, GPFS-49
    faults = fault(kind, op, site / "scratch", rank=rank, **settings)
    job = run(site, rows.replace("-", " and "), faults | tracing(site, "errors"))
    assert job.counts() == {"passed": 1, "failed": 1, "deselected": 5}, job.output
    assert told in job.output
    assert job.status == 1
    assert list((site / "scratch").iterdir()) == []
    # GPFS-55, GPFS-57: an error of a pass is traced, with the call that met it; wrong bytes are no error of a call
    traced = read_traces(site)
    assert all("error" in line for line in traced)
    own = {(line["op"], line["text"]) for line in traced if line["rank"] == rank}
    assert (own != set()) == (kind.startswith("E")), traced
    assert all(told in str(text) for _, text in own)
    calls = {"write": {"write_at", "write_all", "pwrite"}, "read": {"read_at"}, "fsync": {"sync"}}[op]
    assert {name for name, _ in own} <= calls
    assert all(line["length"] == 65536 for line in traced if line["op"] in ("write_at", "pwrite", "read_at"))


def test_short_writes_are_finished_by_the_library(site: Path) -> None:
    faults = fault("short", "write", site / "scratch", rank=1, times=3)
    least = {"PARIO_TRACE_MIN_OFFSET": "65536"}
    job = run(site, "bytes", faults | tracing(site, "all", **least))
    assert job.counts()["passed"] == 7, job.output
    # GPFS-55, GPFS-56: one record for each call of each pass on each rank, but for those that begin below the offset
    traced = read_traces(site)
    assert not [line for line in traced if "error" in line]
    for rank in range(RANKS):
        own = [line for line in traced if line["rank"] == rank]
        ops = Counter(str(line["op"]) for line in own)
        kept = 3 if rank == 0 else 4
        # each row is written in a round of its own, and once more to be read
        assert (ops["write_at"], ops["read_at"], ops["pwrite"], ops["pread"]) == (2 * kept, kept, 2 * kept, kept)
        data = [line for line in own if line["op"] in ("write_at", "read_at", "pwrite", "pread")]
        assert {line["offset"] for line in data} == {rank * 262144 + n * 65536 for n in range(4)} - {0}
        assert all(line["length"] == line["result"] == 65536 for line in data)
        assert ops["write_all"] == 2 * ops["read_all"] > 0
        # every written pass is synced: GuardedFile has none here
        assert ops["sync"] == 6
        assert [line["time"] for line in own] == sorted(float(str(line["time"])) for line in own)


def test_the_slowest_rank_counts(site: Path) -> None:  # CONS-37, GEN-14
    faults = fault("slow", "write", site / "scratch", rank=2, us=50_000)
    job = run(site, "independent and write", faults, "--pario-journal=j.jsonl")
    assert job.counts()["passed"] == 2, job.output
    (kept,) = next(entry["benchmark"] for entry in read_entries(site / "j.jsonl") if entry.get("benchmark"))
    samples = kept["extra_info"]["record"]["samples"]
    # four calls of 50 ms on one rank alone: never less, whatever else the machine does
    assert min(samples["elapsed_s"]) >= 0.2
    assert samples["io"][0]["max_s"] >= 0.2


def test_a_call_that_never_returns_ends_by_the_watchdog(site: Path) -> None:  # GEN-09, ERR-12
    chosen = ["-k", "(independent and write) or after", "--pario-dir=scratch", "--pario-timeout=10"]
    faults = fault("hang", "write", site / "scratch", rank=1, times=1)
    job = run_pytest(RANKS, "test_f.py", *chosen, directory=site, environment=faults)
    assert job.status == 1, job.output
    assert "rank 1" in job.output
    assert "independent" in job.output
    assert json.dumps(sorted(path.name for path in (site / "scratch").iterdir())) == "[]"


def test_the_doctor_sees_a_disk_that_lies(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in fault("flip", "write", site / "scratch").items():
        monkeypatch.setenv(name, value)
    job = run_pario("doctor", "--dir", "scratch", directory=site)
    assert job.status != 0, job.output
