"""`pario doctor`: one screen, true, and nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mpi.jobs import run_pario


@pytest.mark.openmpi
def test_the_doctor_sees_a_healthy_directory(tmp_path: Path) -> None:
    job = run_pario("doctor", "--dir", str(tmp_path), directory=tmp_path)
    assert job.status == 0, job.output
    for line in ("ok  MPI", "ok  create", "ok  fsync", "ok  collective", "hints", "striping", "clock"):
        assert line in job.output, job.output
    assert len(job.output.splitlines()) < 60
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    job = run_pario("doctor", "--dir", str(tmp_path / "nowhere"), directory=tmp_path)
    assert job.status == 2
    assert "does not exist" in job.output


def test_without_a_launcher_the_cure_is_told(tmp_path: Path) -> None:
    job = run_pario("doctor", "--dir", str(tmp_path), "--mpiexec", "no-such-launcher", directory=tmp_path)
    assert job.status == 1
    assert "NO  MPI" in job.output
    assert "-> pip install 'pytest-pario[mpich]'" in job.output
