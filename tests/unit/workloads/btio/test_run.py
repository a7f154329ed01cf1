"""Whole runs of class S on one rank: what is kept of each phase, and that nothing passes unread."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import pytest

from pytest_pario import mpi
from pytest_pario.errors import VerificationError
from pytest_pario.model import Access
from pytest_pario.workloads.btio import run as running
from pytest_pario.workloads.btio.classes import find_class
from pytest_pario.workloads.btio.marks import Mark, Marker
from pytest_pario.workloads.btio.record import record_of
from pytest_pario.workloads.btio.result import Beside, BtioResult, summed_rate
from pytest_pario.workloads.btio.run import Run, run_btio
from pytest_pario.workloads.btio.solver import Solver, norms

SMALL = find_class("S")
PHASES: tuple[Access, Access] = ("write", "read")


def replay(directory: Path, subtype: str = "full", **hints: str) -> tuple[Run, BtioResult]:
    run = Run(SMALL, subtype, "replay", hints=hints, loop="python")
    return run, run_btio(mpi.load().COMM_SELF, run, directory)


@pytest.mark.parametrize("subtype", ["full", "fortran"])
def test_each_phase_keeps_its_own_pause(subtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marked = 0

    def mark(self: Marker, flat: object) -> Mark:
        nonlocal marked
        marked += 1
        # fields that are read back take longer to mark than those that are written
        time.sleep(0.02 if marked > SMALL.fields else 0.0)
        return plain(self, flat)  # type: ignore[arg-type]

    plain = Marker.mark
    monkeypatch.setattr(Marker, "mark", mark)
    monkeypatch.setattr(running, "PAUSED_SHARE", 1e-9)
    run, result = replay(tmp_path, subtype)
    write, read = (record_of(run, result, phase) for phase in PHASES)
    assert result.beside["read"].aside_s >= 0.02 * SMALL.fields
    assert (write.facts["aside_s"], read.facts["aside_s"]) == tuple(result.beside[phase].aside_s for phase in PHASES)
    assert write.facts["aside_s"] != read.facts["aside_s"]
    # CONS-38: neither rule of aggregation counts the pause
    assert result.read is not None
    assert result.read.span_s[0] - result.read.elapsed_s[0] < result.beside["read"].aside_s / 2
    for paused in (True, False):
        beside = {"write": result.beside["write"], "read": dataclasses.replace(result.beside["read"], paused=paused)}
        told = dataclasses.replace(result, beside=beside)
        assert "paused" in record_of(run, told, "write").flags
        assert ("paused" in record_of(run, told, "read").flags) == paused


def test_statistics_as_the_reference_reports_them(tmp_path: Path) -> None:  # BT §7
    # two ranks of 4 and 1 MB/s: a sum of rates, not all bytes by the slowest rank's time
    assert summed_rate([(4_000_000, 1.0), (4_000_000, 4.0), (0, 0.0)]) == 5e6
    _, result = replay(tmp_path)
    rates = {"write": Beside(0.0, False, 2e6), "read": Beside(0.0, False, 4e6)}
    told = dataclasses.replace(result, beside=rates).plain()["npb"]
    assert told == {
        "io_s": pytest.approx(0.82944 / 2),
        "io_percent": pytest.approx(100 * 0.82944 / 2 / result.total_s),
        "verify_io_s": pytest.approx(0.82944 / 4),
        "written_mb": pytest.approx(0.82944),
        "io_mb_s": 2.0,
        "verify_io_mb_s": 4.0,
    }
    # on one rank the sum is what this rank reached
    assert result.plain()["npb"]["io_s"] == pytest.approx(result.io_s)
    assert dataclasses.replace(result, beside={}).plain()["npb"] is None


def test_a_collective_buffer_beyond_the_default(tmp_path: Path) -> None:
    _, result = replay(tmp_path, cb_buffer_size="33554432")
    told = result.facts["hints"]
    assert {**told.get("accepted", {}), **told.get("dropped", {})}["cb_buffer_size"] == "33554432"


def test_a_field_that_is_not_taken_back_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The residual is that of what was read, never of the state that the solver came to (BT §9.4)."""
    solver = Solver(SMALL, engine="numpy")
    solver.warm_up()
    solver.step()
    residual = tuple(float(one) for one in norms(solver.residual_sums(), SMALL))
    problem = dataclasses.replace(SMALL, steps=1, interval=1, delta=None, residual=residual)  # type: ignore[arg-type]
    run = Run(problem, "full", engine="numpy")
    with monkeypatch.context() as patched:
        patched.setattr(Solver, "unpack", lambda self, given: None)
        with pytest.raises(VerificationError, match="residual"):
            run_btio(mpi.load().COMM_SELF, run, tmp_path)
    assert run_btio(mpi.load().COMM_SELF, run, tmp_path).comparisons[-1].holds
