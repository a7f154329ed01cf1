"""Free space is shared out once: no pattern is refused for what is written already, none takes that of later ones."""

from __future__ import annotations

import os
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_pario import mpi
from pytest_pario.access import target as targets
from pytest_pario.errors import SpaceError
from pytest_pario.units import GiB, MiB
from pytest_pario.workloads.beffio.averages import Definition
from pytest_pario.workloads.beffio.execution import PartitionRun, Surroundings
from pytest_pario.workloads.beffio.results import PatternResult
from pytest_pario.workloads.beffio.schedule import order
from pytest_pario.workloads.beffio.settings import Machine, Settings
from pytest_pario.workloads.beffio.sizes import derive_segment
from pytest_pario.workloads.beffio.space import RUN_SHARE, pattern_room, type_room
from pytest_pario.workloads.beffio.table import ROWS, TYPES, rows_of

BLOCK = 4096


def small_disk(folder: Path, capacity: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filesystem of `capacity` bytes that holds the files of a folder."""

    def statvfs(_path: object) -> SimpleNamespace:
        used = sum(512 * path.stat().st_blocks for path in folder.iterdir())
        return SimpleNamespace(f_bavail=max(0, capacity - used) // BLOCK, f_frsize=BLOCK)

    monkeypatch.setattr(targets, "os", SimpleNamespace(statvfs=statvfs))


def run_on(folder: Path, settings: Settings, free: int | None = None) -> PartitionRun:
    around = Surroundings(folder, "ext4", seed=3, loop="python", free_bytes=free)
    return PartitionRun(mpi.load().COMM_SELF, settings, around)


def write(run: PartitionRun, *kinds: int) -> list[PatternResult]:
    steps = [step for step in order([1], "2.0", "type0") if step.access == "write" and step.row.type in kinds]
    ends = [*(one.file_key != other.file_key for one, other in pairwise(steps)), True]
    return [run.run(step, last=last) for step, last in zip(steps, ends, strict=True)]


def settings_of(partitions: int = 1, total_s: float = 30.0) -> Settings:
    machine = Machine(partitions, partitions, 256 * MiB, GiB)
    return Settings(total_s, machine, tuple(range(1, partitions + 1)), noshared=True)


# GEN-16: a disk that is faster than its size fills every share, and still no pattern is refused
def test_every_type_keeps_its_share_of_a_small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    capacity = 200 * MiB
    small_disk(tmp_path, capacity, monkeypatch)
    moved = Counter[int]()
    for one in write(run_on(tmp_path, settings_of(2)), *range(5)):
        assert "byte_limited" in one.flags or not one.row.units or one.row.type >= 3
        moved[one.row.type] += one.moved_bytes
    share = type_room(capacity, "2.0", 2, keep=False)
    assert share == 16 * MiB
    assert all(moved[kind] <= share for kind in range(5)), moved
    # half of what may be taken is there for the other partition
    assert sum(moved.values()) <= RUN_SHARE * capacity / 2


# BEFF-20, GEN-16: the segments of type 3 are there when those of type 4 are written, each byte counted once
def test_segments_need_room_for_their_own_bytes_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_on(tmp_path, settings_of(), GiB)
    run.counts = {row.number: 4 for row in ROWS if row.type <= 2}
    length = derive_segment(run.counts, 2 * MiB).length
    small_disk(tmp_path, 5 * length // 2, monkeypatch)
    found = write(run, 3, 4)
    assert sum(one.moved_bytes for one in found) == 2 * length
    assert not any(one.flags for one in found)
    # a share that is smaller caps them
    capped = run_on(tmp_path, settings_of(), 6 * length)
    capped.counts = dict(run.counts)
    small_disk(tmp_path, 6 * length, monkeypatch)
    found = write(capped, 3)
    assert {one.flags for one in found} == {("segment_capped",)}
    assert sum(one.moved_bytes for one in found) <= RUN_SHARE * 6 * length / 5


def test_a_disk_that_others_have_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # GEN-16
    # what was shared out at the start is no longer there: told before the first byte, not as an error of MPI
    small_disk(tmp_path, MiB // 2, monkeypatch)
    with pytest.raises(SpaceError, match=r"scatter-p00 needs 1 MiB"):
        write(run_on(tmp_path, settings_of(), GiB), 0)
    assert not any(path.stat().st_size for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("definition", "keep", "together"), [("2.0", False, 3), ("2.0", True, 3), ("1.x", False, 1), ("1.x", True, 3)]
)
def test_partitions_that_are_there_at_once(definition: Definition, keep: bool, together: int) -> None:
    free = 150 * GiB
    assert type_room(free, definition, 3, keep=keep) == int(RUN_SHARE * free) // (together * len(TYPES))


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_patterns_share_the_room_of_a_type_by_their_units(kind: int) -> None:
    rows, room, written = [row for row in rows_of(kind) if row.units], 440 * MiB, 0
    for row in rows:
        found = pattern_room(room, written, row)
        assert found == pytest.approx(room * row.units / sum(one.units for one in rows), abs=8)
        written += found
    assert written <= room
    # what the first left is for those after it, and what it took too much is theirs to bear
    assert pattern_room(room, 0, rows[1]) > pattern_room(room, room // 2, rows[1]) > 0
    assert pattern_room(room, 2 * room, rows[1]) == 0


def test_free_space_is_what_this_user_may_write(tmp_path: Path) -> None:
    facts = os.statvfs(tmp_path)
    assert 0 < targets.free_bytes(tmp_path) <= facts.f_blocks * facts.f_frsize
