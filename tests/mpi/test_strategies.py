"""Strategies under real MPI: the same bytes as the library's own calls, and no hang where one rank fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_pario.cli import main
from tests.mpi.launching import missing_reason, run_ranks

CASES = Path(__file__).parent / "cases" / "strategies"


def require_mpi() -> None:
    if missing_reason():
        pytest.skip(str(missing_reason()))


# RES-25, RES-26, GPFS-36: every strategy leaves what plain collective I/O leaves and reads it back, for all layouts,
# ranks without bytes included
@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_random_requests(ranks: int, tmp_path: Path) -> None:
    require_mpi()
    result = run_ranks([str(CASES / "random_requests.py"), str(tmp_path), str(ranks), "10"], ranks, timeout=300)
    assert not result.timed_out, result.stderr[-2000:]
    assert result.returncode == 0, result.stderr[-3000:]
    (told,) = result.records
    assert told["bad"] == []
    assert (told["strategies"], told["layouts"]) == (10, 11)
    assert told["ran"] == told["natively"] == 110
    assert list(tmp_path.iterdir()) == []


# RES-03, RES-11, RES-19: through the runner, every strategy next to native, digests of the files compared
@pytest.mark.parametrize("ranks", [pytest.param(2, marks=pytest.mark.openmpi), 3, 4, 5, 8])
def test_every_layout_under_every_strategy(ranks: int, tmp_path: Path) -> None:
    require_mpi()
    result = run_ranks([str(CASES / "all_strategies.py"), str(tmp_path), str(ranks)], ranks, timeout=300)
    assert not result.timed_out, result.stderr[-2000:]
    assert result.returncode == 0, result.stderr[-3000:]
    (told,) = result.records
    assert (told["bad"], told["differ"], told["left"]) == ({}, [], [])
    assert told["ran"] > (100 if ranks < 5 else 60)


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
        assert len(record["told"]) == 2 * 8
        assert record["ahead"] > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ranks", [2, 4])
def test_discontinuities_on_the_emulated_store(ranks: int, tmp_path: Path) -> None:  # RES-28, RES-17, RES-18
    require_mpi()
    result = run_ranks([str(CASES / "seeks.py"), str(tmp_path)], ranks, timeout=300)
    assert result.returncode == 0, result.stderr[-3000:]
    (told,) = result.records
    assert told["left"] == []
    rows = {(layout, text, phase): found for layout, text, phase, *found in told["found"]}
    kept = [text for _, text, _ in rows if text.startswith("resonant")]
    for (layout, text, phase), (most, _, _) in rows.items():
        # the segments of ior lie apart on their node: each costs its seek in whatever order they come
        allowed = ranks if layout.startswith("ior") else 1
        assert text not in kept or most <= allowed, (layout, text, phase)
    # the domains of two-phase put several ranks on every node
    assert rows["demo-2048", "two_phase", "write"][1] > 0 or ranks == 2
    # RES-27: what is not merged is asked for piece by piece
    merged, apart = (rows["demo-512", f"resonant:unit=1024,nodes=4,scheme=agents{more}", "write"][2]
                     for more in ("", ",merge=false"))  # fmt: skip
    assert apart == 2 * merged


@pytest.mark.parametrize("ranks", [2, 3])
def test_many_extents_and_wide_calls(ranks: int, tmp_path: Path) -> None:  # RES-17, GPFS-37
    require_mpi()
    result = run_ranks([str(CASES / "wide.py"), str(tmp_path), "1000000"], ranks, timeout=200)
    assert not result.timed_out, result.stderr[-2000:]
    assert result.returncode == 0, result.stderr[-3000:]
    (told,) = result.records
    assert len(told["found"]) == 16
    for name, text, fine, calls, holes_kept, extents in told["found"]:
        assert fine, (name, text)
        assert holes_kept, (name, text)
        # holes that are moved along, or lists: never a call of the file for each extent
        assert calls < (10_000 if extents > 10_000 else 200), (name, text, calls)


@pytest.mark.parametrize("room", ["mine", "theirs", "agent", "own", "started"])
def test_one_rank_lacks_memory(room: str, tmp_path: Path) -> None:  # GPFS-49
    require_mpi()
    result = run_ranks([str(CASES / "no_room.py"), str(tmp_path), room], 3, timeout=90)
    assert not result.timed_out, result.stderr[-2000:]
    assert result.returncode == 0, result.stderr[-3000:]
    assert len(result.records) == 3
    last = result.records[-1]["told"]
    assert any(first == "MemoryError" for first, _ in last.values()) or room == "started"
    for record in result.records:
        assert {second for _, second in record["told"].values()} == {"ok"}
    for case, (first, _) in last.items():
        if first == "MemoryError" and room in ("mine", "theirs"):
            assert {record["told"][case][0] for record in result.records[:-1]} == {"RemoteTaskError"}


def test_two_programs_at_once(tmp_path: Path) -> None:  # RES-38, RES-39
    require_mpi()
    result = run_ranks([str(CASES / "two_programs.py"), str(tmp_path)], 4, timeout=120)
    assert not result.timed_out, result.stderr[-2000:]
    assert result.returncode == 0, result.stderr[-3000:]
    (told,) = result.records
    assert told["left"] == []
    assert len(told["found"]) == 6
    # RES-29: before both programs read alone, and before they read together, in each of three passes
    assert told["emptied"][0] == 6 * 3 * 2
    assert told["emptied"][1] >= 6 * 3 * 2
    for row in told["found"].values():
        assert row["relative"] > 0
        for name in ("alone", "together", "other_alone", "other_together"):
            assert len(row[name]) == 3
            assert min(row[name]) > 0
    # the rank that read the damaged byte has its error, the others are told of it
    assert sorted(told["told"]) == ["RemoteTaskError"] * 3 + ["VerificationError"]


def test_a_scan_of_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # RES-41
    require_mpi()
    command = ["resonance", "scan", "-n", "2", "--dir", str(tmp_path), "--segments", "4K", "8K", "16K"]
    assert main([*command, "--size", "64K", "--rounds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if "processes," in line] == ["1", "2"]
    assert lines[-1].startswith(("no peak", "M*u"))
    assert list(tmp_path.iterdir()) == []
