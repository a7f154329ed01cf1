"""The benchmarks of MPI-IO/GPFS and hint sweeps under mpiexec."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.mpi.jobs import fast_scratch, launcher, run_command, run_pario, run_pytest
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
    # GPFS-14, GPFS-24: what is timed does not depend on how many views there are
    built = {name: one["record"]["facts"]["filetypes"] for name, one in found.items() if "posix" not in name}
    inside = {name for name, told in built.items() if told == "inside the timed part"}
    assert inside == {name for name in built if re.search("discontiguous|partitioning|range-2x4k", name)}
    assert contiguous["record"]["facts"]["filetypes"] == "none"
    # GPFS-45: what was left out is named; GPFS-44: of one replication there is no sigma
    assert len(contiguous["gpfs"]["dropped_mb_s"]) == 1
    assert contiguous["gpfs"]["sigma_mb_s"] is None
    assert contiguous["gpfs"]["figure_mb_s"] >= contiguous["gpfs"]["dropped_mb_s"][0]
    # GPFS-13: the library itself preallocates, timed apart from the rounds
    space = found["test_gpfs[gpfs-discontiguous-prealloc-coll-write]"]["record"]["facts"]
    assert space["allocation"] == "preallocated (MPI_File_preallocate)"
    assert len(space["allocation_s"]) == 4
    assert found["test_gpfs[gpfs-discontiguous-coll-write]"]["record"]["facts"]["allocation"] == "new"
    single = found["test_gpfs[gpfs-discontiguous-posix-write]"]["gpfs"]
    assert single["flags"] == ["single_replication"]
    # GPFS-20, GPFS-43: hints that the library does not know are told as dropped
    on = found["test_gpfs[gpfs-partitioning-on-indep-write]"]
    assert on["gpfs"]["partitioning"] == "on"
    assert set(on["record"]["facts"]["hints"]["dropped"]) == {"IBM_largeblock_io", "IBM_io_buffer_size"}
    assert on["gpfs"]["dropped_hints"] == ["IBM_io_buffer_size", "IBM_largeblock_io"]  # GPFS-04
    assert found["test_gpfs[gpfs-range-2x4k-acc2-coll-read]"]["gpfs"]["dropped_hints"] == [
        "IBM_largeblock_io",
        "max_acc",
    ]
    assert "hints that the library dropped: IBM_io_buffer_size" in job.output
    # GPFS-05, GPFS-06: the results themselves are shown
    assert re.search(r"^=+ gpfs =+$", job.output, re.MULTILINE), job.output
    line = r"^gpfs-partitioning-on-indep-write +\d +[\d.]+ mean +- +1 +[\d.]+ +dropped [\d.]+$"
    assert re.search(line, job.output, re.MULTILINE), job.output
    assert re.search(r"^gpfs-discontiguous-posix-write .* single_replication$", job.output, re.MULTILINE)
    assert re.search(
        rf"^partitioning, write, {ranks} ranks: on / off [\d.]+ by UNIQUE_OPEN alone", job.output, re.MULTILINE
    )


def test_parameters_and_hints_of_the_user(tmp_path: Path) -> None:  # GPFS-04, GPFS-20, GPFS-26
    saved = tmp_path / "saved.json"
    given = ["--benchmark-json", str(saved), "--rootdir", str(tmp_path), "-q", "-k", "partitioning or range-2x4k"]
    for word in ("gpfs_replications=1", "gpfs_blocks_per_op=4", "gpfs_fill=25"):
        given += ["--pario-param", word]
    with fast_scratch(tmp_path) as scratch:
        job = run_pytest(
            2,
            SUITE,
            *given,
            "--pario-dir",
            str(scratch),
            directory=tmp_path,
            environment={"MAX_ACC": "4", "IBM_largeblock_io": "true"},
        )
    assert job.counts()["passed"] == 12, job.output[-3000:]
    found = {one["name"]: one["extra_info"] for one in json.loads(saved.read_text())["benchmarks"]}
    on = found["test_gpfs[gpfs-partitioning-on-indep-write]"]
    assert (on["gpfs"]["partitioning"], on["gpfs"]["blocks_per_op"], on["gpfs"]["fill"]) == ("off", 4, 0.25)
    assert on["record"]["facts"]["hints_requested"]["IBM_largeblock_io"] == "true"
    assert "the switch of partitioning is ignored with IBM_largeblock_io=true" in job.output
    ranged = found["test_gpfs[gpfs-range-2x4k-acc4-coll-read]"]
    assert ranged["gpfs"]["max_acc"] == 4
    assert ranged["record"]["facts"]["hints_requested"]["max_acc"] == "4"
    wrong = run_pytest(1, SUITE, "--pario-param", "gpfs_region=1025", "-q", directory=tmp_path)
    assert "must be a multiple of the block of 1024 B" in wrong.output


def test_the_number_of_tasks_is_swept(tmp_path: Path) -> None:  # GPFS-07, GEN-17
    given = ["--pario-profile", "nightly", "-q", "-k", "tiled-12k-indep-read or tiled-12k-indep-n"]
    given += ["--pario-param", "gpfs_replications=1", "--rootdir", str(tmp_path)]
    with fast_scratch(tmp_path) as scratch:
        job = run_pytest(3, SUITE, *given, "--pario-dir", str(scratch), directory=tmp_path)
    assert job.counts()["passed"] == 5, job.output[-3000:]
    shown = re.findall(r"^gpfs-tiled-12k-indep-read +(\d) ", job.output, re.MULTILINE)
    assert sorted(shown) == ["1", "2", "3"]


MILLION = """
import dataclasses
from pytest_pario.access.datatypes import datatype
from pytest_pario.patterns.planning import plan, views
from pytest_pario.workloads.gpfs.rows import SCALES, discontiguous
from mpi4py import MPI
rank, n = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
scale = dataclasses.replace(SCALES["full"], blocks=1_000_000)
held = 0
for view in views(plan(next(discontiguous(scale, n, 1)).pattern, n), rank):
    with datatype(view.filetype) as made:
        held += made.Get_size()
print("holds", held)
"""


def test_a_million_blocks_become_datatypes(tmp_path: Path) -> None:  # GPFS-12, GPFS-14
    start = launcher(2)
    job = run_command([*start.command, sys.executable, "-c", MILLION], tmp_path, start.environment)
    assert job.output.count("holds 1024000000") == 2, job.output


# data sieving through a buffer of some pieces: the default of this row is slow, and can be made slower
CRIPPLED = """[[pattern]]
name = "crippled"
layout = { name = "strided", block = 64, per_call = 8192 }
hints = { on_open = { romio_ds_write = "enable", ind_wr_buffer_size = "1024" } }
"""


def test_a_sweep_recommends_confirms_and_writes_files(tmp_path: Path) -> None:  # GPFS-04, GPFS-43, GEN-12
    if is_openmpi():
        pytest.skip("the hints that cripple are ROMIO's")
    output = tmp_path / "out"
    output.mkdir()
    (tmp_path / "row.toml").write_text(CRIPPLED)
    command = ["sweep", "-n", "2", "--rows", "row.toml", "--hint", "ind_wr_buffer_size=65536,128"]
    command += ["--hint", "romio_ds_write=enable,banana", "--rounds", "3", "--confirm", "2", "--output", str(output)]
    with fast_scratch(tmp_path) as scratch:
        job = run_pario(*command, "--dir", str(scratch), directory=tmp_path)
        assert list(scratch.iterdir()) == []
    assert job.status == 0, job.output
    best = "ind_wr_buffer_size=65536 romio_ds_write=enable"
    assert f"recommended: {best} (" in job.output
    slow = re.search(r"ind_wr_buffer_size=128 romio_ds_write=enable +[\d.]+ +([\d.]+) +\[", job.output)
    assert slow is not None, job.output
    assert float(slow[1]) < 1
    # what the library made of a word that it does not know is not what was asked for
    assert "has not acted: romio_ds_write=banana asked, automatic in force" in job.output
    confirmed = re.search(
        r"crippled write: the hints of the file were in force; with ROMIO_HINTS ([\d.]+) .* in 2 pairs of jobs",
        job.output,
    )
    assert confirmed is not None, job.output
    assert float(confirmed[1]) > 1
    hints = (output / "crippled-write.romio_hints").read_text()
    assert hints == "ind_wr_buffer_size 65536\nromio_ds_write enable\n"
    assert "no pattern type of b_eff_io" in (output / "beffio.hints").read_text()
    (found,) = json.loads((output / "sweep.json").read_text())["found"]
    in_force = {one["in_force"]["ind_wr_buffer_size"] for one in found["sets"]}
    assert in_force == {"1024", "65536", "128"}


def test_aggregators_that_are_not_to_be_had(tmp_path: Path) -> None:  # GEN-12, ENV-22
    """One aggregator on a host unless cb_config_list says otherwise: cb_nodes alone does not act."""
    if is_openmpi():
        pytest.skip("cb_config_list is ROMIO's")
    command = [
        "sweep",
        "-n",
        "2",
        "--pattern",
        "strided_at_once:4KiB:64KiB:coll",
        "--rounds",
        "3",
        "--test-rounds",
        "1",
    ]
    alone = run_pario(*command, "--hint", "cb_nodes=2", directory=tmp_path)
    assert "cb_nodes=2 asked, 1 in force; the same hints are in force as by default" in alone.output, alone.output
    listed = run_pario(*command, "--hint", "cb_nodes=2", "--hint", "cb_config_list=*:*", directory=tmp_path)
    assert "asked" not in listed.output, listed.output
    assert re.search(r"cb_config_list=\*:\* cb_nodes=2 +[\d.]+ +[\d.]+ +\[", listed.output), listed.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--timeout", "0.2"], "did not end within 0.2 s"),
        (["--pattern", "strided:4MiB:64TiB:coll"], "free"),
    ],
)
def test_a_job_that_fails_is_one_line(arguments: list[str], told: str, tmp_path: Path) -> None:
    command = ["sweep", "-n", "2", "--hint", "cb_nodes=1", "--pattern", "strided:4KiB:64KiB:coll", *arguments]
    job = run_pario(*command, directory=tmp_path)
    assert job.status == 2
    assert [line for line in job.output.splitlines() if told in line] == job.output.splitlines()
    assert list(tmp_path.iterdir()) == []


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
