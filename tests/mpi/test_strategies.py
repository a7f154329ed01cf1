"""Strategies under real MPI: the same bytes as the library's own calls, and no hang where one rank fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mpi.launching import missing_reason, run_ranks

CASES = Path(__file__).parent / "cases" / "strategies"


def require_mpi() -> None:
    if missing_reason():
        pytest.skip(str(missing_reason()))


# RES-25, RES-26, GPFS-36: the result is that of plain collective I/O, for all layouts, ranks without bytes included
@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_random_requests(ranks: int, tmp_path: Path) -> None:
    require_mpi()
    result = run_ranks([str(CASES / "random_requests.py"), str(tmp_path), str(ranks), "10"], ranks, timeout=300)
    assert not result.timed_out, result.stderr[-2000:]
    assert result.returncode == 0, result.stderr[-3000:]
    (told,) = result.records
    assert told["bad"] == []
    assert told["ran"] == 100
    assert list(tmp_path.iterdir()) == []


# RES-03, RES-11, RES-19: through the runner, every strategy next to native, digests of the files compared
@pytest.mark.parametrize("ranks", [pytest.param(2, marks=pytest.mark.openmpi)])
def test_every_layout_under_every_strategy(ranks: int, tmp_path: Path) -> None:
    require_mpi()
    result = run_ranks([str(CASES / "all_strategies.py"), str(tmp_path), "1"], ranks, timeout=300)
    assert not result.timed_out, result.stderr[-2000:]
    assert result.returncode == 0, result.stderr[-3000:]
    (told,) = result.records
    assert (told["bad"], told["differ"], told["left"]) == ({}, [], [])
    assert told["ran"] > 100


@pytest.mark.parametrize("ranks", [3, 4])
def test_one_rank_fails(ranks: int, tmp_path: Path) -> None:  # GPFS-46, GPFS-49
    require_mpi()
    result = run_ranks([str(CASES / "failing.py"), str(tmp_path)], ranks, timeout=300)
    assert not result.timed_out, result.stderr[-2000:]
    assert result.returncode == 0, result.stderr[-3000:]
    assert len(result.records) == ranks
    for record in result.records:
        mine = "OSError" if record["rank"] == ranks - 1 else "RemoteTaskError"
        for case, (first, second) in record["told"].items():
            assert (first, second) == (mine, "ok"), case
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ranks", [2, 4])
def test_discontinuities_on_the_emulated_store(ranks: int, tmp_path: Path) -> None:  # RES-28, RES-17, RES-18
    require_mpi()
    result = run_ranks([str(CASES / "seeks.py"), str(tmp_path)], ranks, timeout=300)
    assert result.returncode == 0, result.stderr[-3000:]
    (told,) = result.records
    assert told["left"] == []
    rows = {(segment, strategy, phase): (most, mean) for segment, strategy, phase, most, mean, _ in told["found"]}
    for segment in (512, 1024, 2048):
        for phase in ("write", "read"):
            assert rows[segment, "resonant", phase][0] <= 1
    # the domains of two-phase put several ranks on every node
    assert rows[2048, "two_phase", "write"][1] > 0 or ranks == 2
