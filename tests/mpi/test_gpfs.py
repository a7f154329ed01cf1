"""The benchmarks of MPI-IO/GPFS and hint sweeps under mpiexec."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.mpi.jobs import fast_scratch, launcher, run_command, run_pytest
from tests.mpi.launching import is_openmpi

ROOT = Path(__file__).parents[2]
SUITE = str(ROOT / "suites" / "test_gpfs.py")


# GPFS-03: sync after reading needs a file opened for writing; GPFS-13, GPFS-14: every byte verified, also those that
# nobody writes. Four ranks are run by the README's own command.
@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=pytest.mark.openmpi), 3])
def test_every_benchmark(ranks: int, tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    given = ["--benchmark-json", str(saved), "--pario-param", "gpfs_replications=2"]
    given += ["--pario-param", "gpfs_drop=1", "--rootdir", str(tmp_path), "-q"]
    with fast_scratch(tmp_path) as scratch:
        job = run_pytest(ranks, SUITE, *given, "--pario-dir", str(scratch), directory=tmp_path)
        assert list(scratch.iterdir()) == []
    assert job.counts() == {"passed": 51}, job.output[-3000:]
    found = {one["name"]: one["extra_info"] for one in json.loads(saved.read_text())["benchmarks"]}
    contiguous = found["test_gpfs[gpfs-contiguous-indep-read]"]
    assert contiguous["record"]["facts"]["timed"] == "read, sync, barrier"  # GPFS-02, GPFS-10
    assert contiguous["record"]["facts"]["synced"]
    # GPFS-45: what was left out is named; GPFS-44: of one replication there is no sigma
    assert len(contiguous["gpfs"]["dropped_mb_s"]) == 1
    assert contiguous["gpfs"]["sigma_mb_s"] is None
    assert contiguous["gpfs"]["figure_mb_s"] >= contiguous["gpfs"]["dropped_mb_s"][0]
    single = found["test_gpfs[gpfs-discontiguous-posix-write]"]["gpfs"]
    assert single["flags"] == ["single_replication"]
    # GPFS-20, GPFS-43: hints that the library does not know are told as dropped
    on = found["test_gpfs[gpfs-partitioning-on-indep-write]"]
    assert on["gpfs"]["partitioning"] == "on"
    assert set(on["record"]["facts"]["hints"]["dropped"]) == {"IBM_largeblock_io", "IBM_io_buffer_size"}
    assert "hints that the library dropped: IBM_io_buffer_size" in job.output


def test_a_sweep_recommends_and_writes_files(tmp_path: Path) -> None:  # GPFS-04, GPFS-43
    if is_openmpi():
        pytest.skip("the hints that cripple are ROMIO's")
    start = launcher(2)
    scratch, output = tmp_path / "scratch", tmp_path / "out"
    scratch.mkdir()
    output.mkdir()
    command = [sys.executable, "-m", "pytest_pario.cli", "sweep", "-n", "2"]
    command += ["--pattern", "strided_at_once:64:256KiB:coll"]
    command += ["--hint", "romio_cb_write=enable,disable", "--hint", "romio_ds_write=disable"]
    command += ["--rounds", "3", "--dir", str(scratch), "--output", str(output)]
    job = run_command(command, tmp_path, start.environment)
    assert job.status == 0, job.output
    crippled = re.search(r"romio_cb_write=disable romio_ds_write=disable +[\d.]+ +([\d.]+) +\[", job.output)
    assert crippled is not None, job.output
    assert float(crippled[1]) > 0
    assert (output / "strided_at_once-64-coll-write.romio_hints").exists()
    assert (output / "beffio.hints").read_text().startswith("# recommended by a sweep")
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--pattern", "strided:32k:1M:coll"], "--matrix"),
        (["--hint", "cb_nodes=0", "--pattern", "strided:32k:1M:coll"], "cb_nodes"),
        (["--hint", "cb_nodes=1"], "given at least once"),
        (["--hint", "cb_nodes=1", "--pattern", "strided:32k:1M:coll", "--rounds", "2"], "3 or more"),
        (["--hint", "cb_nodes=1", "--pattern", "strided:32k:1M:coll", "--dir", "/nowhere"], "written to"),
    ],
)
def test_wrong_sweeps(arguments: list[str], told: str, tmp_path: Path) -> None:
    job = run_command([sys.executable, "-m", "pytest_pario.cli", "sweep", *arguments], tmp_path, {})
    assert job.status == 2
    assert told in job.output
