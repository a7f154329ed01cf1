"""Under a real batch system: srun and mpiexec over several nodes, singletons refused, the time limit loses nothing."""

from __future__ import annotations

import os
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_pario.session.journal import read_entries
from tests.beds.slurm import Cluster, missing_reason, slurm
from tests.mpi.jobs import Job, run_command
from tests.mpi.launching import is_openmpi

pytestmark = [pytest.mark.xdist_group("beds"), pytest.mark.rootonly, pytest.mark.slow, pytest.mark.on_disk]

TORN_REQUEST = "mpi/pmi2: invalid client request"
"""Slurm 22.05 now and then takes two halves of what a rank says for two requests; MPI then never starts."""
TRIES = 3

SUITE = """
import socket
from pytest_pario.model import Pattern
from pytest_pario.patterns import Strided

def test_two_nodes(comm):
    assert sorted(set(comm.allgather(socket.gethostname()))) == ["n1", "n2"]

def test_bytes(pario):
    pario.run(Pattern("strided", Strided(4096, per_call=4, ncalls=4), coll=True), "write", rounds=1)

def test_far_rank_fails(comm):
    assert comm.rank != 3
"""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    reason = missing_reason() or ("srun --mpi=pmi2 starts MPICH" if is_openmpi() else None)
    if reason:
        pytest.skip(reason)
    with slurm() as made:
        yield made


@pytest.fixture
def site(tmp_path: Path) -> Path:
    directory = tmp_path / "site"
    directory.mkdir()
    (directory / "test_s.py").write_text(SUITE)
    return directory


def start(cluster: Cluster, site: Path, *command: str) -> Job:
    told = {
        **cluster.environment,
        "PARIO_HUB_ADDRESS": "127.0.0.1",
        "PARIO_START_TIMEOUT": "40",
        "PATH": f"{_bin()}:{os.environ['PATH']}",
    }
    return run_command(command, site, told)


def _bin() -> Path:
    return Path(sys.executable).parent


def test_pario_run_under_srun(cluster: Cluster, site: Path) -> None:
    srun = "srun --mpi=pmi2 -N2 --ntasks-per-node=2"
    for _ in range(TRIES):
        job = start(cluster, site, "pario", "run", "-n", "4", "--mpiexec", srun, "test_s.py", "--pario-dir=.")
        if TORN_REQUEST not in job.output:
            break
    assert job.counts() == {"passed": 2, "failed": 1}, job.output
    assert "4 ranks on 2 hosts" in job.output
    assert "rank 3 of 4: assert 3 != 3" in job.output
    assert job.status == 1


def test_mpiexec_finds_the_nodes_of_its_job(cluster: Cluster, site: Path) -> None:
    inside = ["mpiexec", "-n", "4", sys.executable, "-m", "pytest", "--with-mpi", "test_s.py", "--pario-dir=."]
    job = start(cluster, site, "salloc", "-N2", "--ntasks-per-node=2", *inside)
    assert job.counts() == {"passed": 2, "failed": 1}, job.output
    assert "4 ranks on 2 hosts" in job.output


def test_worlds_of_one_rank_are_refused(cluster: Cluster, site: Path) -> None:
    command = ["srun", "--mpi=none", "-n", "2", sys.executable, "-m", "pytest", "--with-mpi", "test_s.py"]
    job = start(cluster, site, *command)
    assert job.status != 0
    assert "--mpi=pmi2" in job.output, job.output


BATCH = """#!/bin/sh
#SBATCH -N2 --ntasks-per-node=2 -t 2 --signal=TERM@90
cd {site}
exec mpiexec -n 4 {python} -m pytest --with-mpi test_long.py --junitxml=j.xml --pario-journal=j.jsonl
"""


def test_the_time_limit_of_a_batch_job_loses_nothing(cluster: Cluster, site: Path) -> None:
    """Slurm sends SIGTERM before the limit: finished tests, junit and journal are all there."""
    (site / "test_long.py").write_text(
        "import time\n"
        "def test_done(comm): comm.Barrier()\n"
        "def test_long(comm): time.sleep(300)\n"
        "def test_never(comm): pass\n"
    )
    script = site / "job.sh"
    script.write_text(BATCH.format(site=site, python=sys.executable))
    start(cluster, site, "sbatch", "--output=out.txt", str(script))
    until = time.monotonic() + 150
    while not (site / "j.xml").exists() and time.monotonic() < until:
        time.sleep(0.5)
    told = (site / "out.txt").read_text() if (site / "out.txt").exists() else "the job did not start"
    assert (site / "j.xml").exists(), told
    ended = [one["nodeid"] for one in read_entries(site / "j.jsonl") if one["event"] == "end"]
    assert "test_long.py::test_done" in ended
    names = {case.get("name") for case in ET.parse(site / "j.xml").findall(".//testcase")}
    assert "test_done" in names
    assert "test_never" not in names
