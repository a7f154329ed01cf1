"""BTIO on real ranks: published norms and equal bytes on any number of them, and what is told of damage."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_pario.access.loops.compiling import numba_missing_reason
from pytest_pario.workloads.btio.classes import COMPONENTS, EPSILON, find_class
from pytest_pario.workloads.btio.solver import Solver
from tests.mpi.jobs import Job, run_pario, run_pytest
from tests.mpi.launching import missing_reason, run_ranks

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).parent / "cases" / "btio"
SUITE = str(ROOT / "suites" / "test_btio.py")
SMALL = find_class("S")
LIMIT_S = 170.0

pytestmark = [
    pytest.mark.skipif(missing_reason() is not None, reason=missing_reason() or ""),
    pytest.mark.skipif(numba_missing_reason() is not None, reason=numba_missing_reason() or ""),
]


def run_case(case: str, n: int, directory: Path, *arguments: str, **env: str) -> list[dict[str, Any]]:
    """The record of each rank; a job that hangs or ends badly is a failure."""
    result = run_ranks([str(CASES / f"{case}.py"), str(directory), *arguments], n, LIMIT_S, env)
    assert not result.timed_out, f"{case} hangs:\n{result.stdout}\n{result.stderr}"
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    return result.records


@functools.cache
def digest(name: str) -> str:
    """Of the bytes that one process alone comes to."""
    problem = find_class(name)
    solver, flat, hashed = Solver(problem), np.empty(COMPONENTS * problem.size**3), hashlib.sha256()
    solver.warm_up()
    for step in range(1, problem.steps + 1):
        solver.step()
        if step % problem.interval == 0:
            solver.pack(flat)
            hashed.update(flat.data)
    return hashed.hexdigest()


# fmt: off
RANKS = [
    #            ranks  others: class and subtype
    pytest.param(1,     ("W-full", "A-full")),
    pytest.param(4,     ("W-none", "A-none"), marks=pytest.mark.slow),
    pytest.param(9,     ("W-full",)),
    pytest.param(16,    ("W-none",),          marks=pytest.mark.slow),
]
# fmt: on


@pytest.mark.parametrize(("n", "others"), RANKS)
def test_published_norms_on_any_number_of_ranks(n: int, others: tuple[str, ...], tmp_path: Path) -> None:
    """Class S with every subtype, W and A with and without output; 16 ranks begin without machine code."""
    cold = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")} if n == 16 else {}
    records = run_case("all_subtypes", n, tmp_path, *others, **cold)
    for record in records:
        for name, norms in record["found"].items():
            without_output = name.endswith("none")
            assert set(norms) - {"cache"} == {"residual", "error" if without_output else "delta"}
            assert all(value <= EPSILON for kind, value in norms.items() if kind != "cache"), (name, norms)
    # every number of ranks leaves the same bytes
    expected = dict.fromkeys(("full", "simple", "fortran"), digest("S"))
    assert records[0]["digests"] == expected | ({"W": digest("W")} if "W-full" in others else {})
    edge = int(n**0.5)
    for name, used in records[0]["memory"].items():
        # twice the 46 doubles that the reference holds of a point, halos of one point included
        assert used < 2 * 46 * 8 * edge * (find_class(name).size // edge + 2) ** 3
    assert sum(records[0]["epio"]) == SMALL.total_bytes + 8 * n * edge * SMALL.fields
    if cold:
        assert sum(record["hits"] for record in records) == 15


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("PARIO_TEST_BTIO_B"), reason="class B takes a minute: set PARIO_TEST_BTIO_B=1")
def test_published_norms_of_class_b(tmp_path: Path) -> None:
    for record in run_case("all_subtypes", 4, tmp_path, "B-full"):
        assert set(record["found"]["B-full"]) == {"residual", "delta"}
        assert max(record["found"]["B-full"].values()) <= EPSILON, record


def test_numpy_and_compiled_code_agree(tmp_path: Path) -> None:
    for record in run_case("engines", 4, tmp_path):
        assert record["deviation"] < 1e-11


HARM = {
    "flip": "field 7 of 12 is not what was written: 1 of 12 planes of rank 2 differ, the first at offset 486720; some",
    "swap": "field 2 of 12 is not what was written",
    "lose": "12 of 12 planes of rank 0 differ, the first at offset 207360; all bytes are zero: the field is missing",
    "cut": "has 760320 bytes and should have 829440: 1 of 12 fields are missing",
    "replace": "no plane is of this run: a stale file, or somebody else's",
    "grow": "has 898560 bytes and should have 829440",
}


@pytest.mark.openmpi
def test_damage_is_caught_and_named_on_all_ranks(tmp_path: Path) -> None:
    # GEN-07, ERR-13
    records = run_case("harm", 4, tmp_path)
    for record in records:
        told = record["told"]
        for subtype, mode in (("full", "solved"), ("fortran", "replay")):
            for harm, sentence in HARM.items():
                text = told[f"{subtype} {mode} {harm}"]
                assert text.startswith(f"VerificationError: btio-S-{subtype}-{mode}: "), text
                assert f"btio.{subtype}.out" in text
                assert sentence in text, text
            assert "it holds field 9: fields were exchanged" in told[f"{subtype} {mode} swap"]
        for subtype in ("simple", "epio"):
            assert "right after it was made anew: a stale file of a former run" in told[f"{subtype} stale"]
        expected = "OSError" if record["rank"] == 1 else "RemoteTaskError: btio-S-fortran-solved output failed"
        assert told["one fails"].startswith(expected)
        own = record["rank"] == 0
        assert told["cannot remove"].startswith("IsADirectoryError" if own else "RemoteTaskError: remove "), told
        assert told["vanished"].startswith("FileNotFoundError" if own else "RemoteTaskError: size of "), told


def run_suite(ranks: int, directory: Path, *arguments: str) -> tuple[Job, dict[str, Any]]:
    """Run the suite with its scratch below `directory`; the job and its benchmarks by name."""
    (directory / "scratch").mkdir(exist_ok=True)
    files = [f"--benchmark-json={directory / 'b.json'}", f"--pario-journal={directory / 'j.jsonl'}"]
    scratch = ["--pario-dir", str(directory / "scratch"), "--rootdir", str(ROOT)]
    job = run_pytest(ranks, *files, *scratch, SUITE, *arguments, "-rs", directory=directory)
    saved = json.loads((directory / "b.json").read_text())["benchmarks"] if (directory / "b.json").exists() else []
    return job, {one["name"]: one["extra_info"] for one in saved}


@pytest.mark.openmpi
def test_the_suite_keeps_records_and_files(tmp_path: Path) -> None:
    job, saved = run_suite(4, tmp_path, "-k", "S-solved", "--pario-keep", "--pario-param", "cb_buffer_size=1048576")
    assert (job.status, job.counts()) == (0, {"passed": 5, "deselected": 5}), job.output
    info = saved["test_btio[S-solved-full-write]"]
    record, told = info["record"], info["btio"]
    assert info["moved_bytes"] == [SMALL.total_bytes]
    assert record["pattern"]["layout"] == {"name": "multipartition", "size": 12}
    assert (record["n"], record["facts"]["mode"], told["conforming"]) == (4, "solved", True)
    assert record["fingerprint"]
    assert record["facts"]["cache"]["state"]
    assert "cb_buffer_size" in {
        **record["facts"]["hints"].get("accepted", {}),
        **record["facts"]["hints"].get("dropped", {}),
    }
    assert told["mops"] > 0
    assert told["overhead_s"] == pytest.approx(
        told["total_s"] - saved["test_btio[S-solved-none-write]"]["btio"]["total_s"]
    )
    assert "non-conforming" in saved["test_btio[S-solved-epio-write]"]["record"]["flags"]
    # and people are shown it
    shown = job.output.partition("= BTIO =")[2].splitlines()
    row = next(line.split() for line in shown if line.startswith("S full solved"))
    assert row[3:6] == ["4", f"{told['total_s']:.3f}", f"{told['mops']:.0f}"], shown
    assert row[10] == f"{told['overhead_s']:+.3f}"
    assert any(line.startswith("as NPB 3.4 counts it") for line in shown)
    bandwidths = [line for line in job.output.splitlines() if line.startswith("test_btio[S-solved-full-write]")]
    assert any("computing included" in line for line in bandwidths)
    files = sorted((tmp_path / "scratch").glob("*/btio.*.out"))
    assert len(files) == 3
    assert run_pario("btio", "verify", str(files[0]), "--class", "S", directory=tmp_path).status == 0


def test_a_test_of_ones_own_runs_on_the_largest_square(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(
        "import pytest\n"
        "def test_any(btio): assert btio('S', 'simple', 'replay').ranks == 4\n"
        "@pytest.mark.pario_ranks(1)\n"
        "def test_one(btio): assert btio('S', 'none').ranks == 1\n"
    )
    job = run_pytest(5, "test_own.py", "--pario-dir=.", directory=tmp_path)
    assert job.counts() == {"passed": 2}, job.output
    job = run_pytest(4, "test_own.py", "--pario-dir=.", "--pario-param=btio_ranks=strict", directory=tmp_path)
    assert job.counts() == {"passed": 2}, job.output


def test_other_numbers_of_ranks_and_too_little_room(tmp_path: Path) -> None:
    # two ranks: one runs, the other sleeps
    job, saved = run_suite(2, tmp_path, "-k", "S-solved-full or A-replay-epio", "--pario-memory", "5MiB")
    assert job.counts() == {"passed": 1, "skipped": 1, "deselected": 8}, job.output
    assert saved["test_btio[S-solved-full-write]"]["ranks"] == 1
    assert (
        "btio-A-epio-replay needs 10 MiB of memory on each of 1 ranks, 5 MiB are allowed (--pario-memory)" in job.output
    )
    assert list((tmp_path / "scratch").iterdir()) == []
    job, _ = run_suite(2, tmp_path, "-k", "S-solved-full", "--pario-param", "btio_ranks=strict")
    assert job.counts() == {"skipped": 1, "deselected": 9}, job.output
    assert "BTIO needs a square number of ranks, this job has 2 (btio_ranks=strict)" in job.output


REFERENCE = """#!/bin/sh
echo ' Class           =                        S'
echo ' Time in seconds =                     2.00'
"""


def test_the_bench_prints_start_peak_and_ratio(tmp_path: Path) -> None:
    program = tmp_path / "bt.S.x"
    program.write_text(REFERENCE)
    program.chmod(0o755)
    given = ["bench", "btio", "--class", "S", "--ranks", "1", "--repeat", "1", "--reference", str(program)]
    job = run_pario(*given, directory=tmp_path)
    assert job.status == 0, job.output
    for text in ("FMA peak of one core: ", "start: first run ", "CPU ns/point/step", "reference / pario"):
        assert text in job.output
