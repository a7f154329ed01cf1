"""Negative controls of the verifier: what is broken on purpose is reported with all that is known (GEN-07)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pytest_pario.model import Damage, Plan
from pytest_pario.patterns import check, content_of, verify_file
from pytest_pario.patterns.pieces import Bytes
from tests.unit.patterns.writing import LAYOUTS, Change, N, chosen, image, pieces, planned, write

each_layout = pytest.mark.parametrize("name", LAYOUTS)


def controlled(made: Plan, tmp_path: Path, good: Bytes, bad: Bytes) -> Damage:
    """The damage that the verifier reports, after comparing its numbers with a byte by byte comparison."""
    content = content_of(made, 9, 1)
    assert verify_file(write(tmp_path / "good", good), made, content) is None
    damage = verify_file(write(tmp_path / "bad", bad), made, content)
    # holes of new files are undefined
    holes = np.zeros(good.size, dtype=bool)
    for offset, length in zip(*check.find_holes(made.ranks), strict=True):
        holes[offset : offset + length] = True
    wrong = np.flatnonzero((good != bad) & ~holes)
    assert damage is not None
    first = int(wrong[0])
    assert (damage.offset, damage.bad_bytes) == (first, wrong.size)
    assert (damage.expected, damage.actual) == (int(good[first]), int(bad[first]))
    assert damage.rank is not None
    table = made.ranks[damage.rank]
    inside = (table.offsets <= first) & (first < table.offsets + table.lengths)
    assert damage.call == np.searchsorted(table.bounds, np.flatnonzero(inside)[0], side="right") - 1
    return damage


def changed(made: Plan, change: Change) -> tuple[Bytes, Bytes]:
    content = content_of(made, 9, 1)
    return image(made, content), image(made, content, change=change)


@each_layout
def test_one_flipped_byte(name: str, tmp_path: Path) -> None:
    made = planned(name)
    good = image(made, content_of(made, 9, 1))
    bad, target = good.copy(), chosen(made)
    place = target.offset + target.data.size // 2
    bad[place] ^= 0x10
    damage = controlled(made, tmp_path, good, bad)
    assert (damage.offset, damage.bad_bytes, damage.rank, damage.call) == (place, 1, 2, target.call)
    assert "1 of" in damage.guess
    assert "bits 0x10" in damage.guess


@each_layout
@pytest.mark.parametrize("by", [1, -1, 8])
def test_one_extent_shifted(name: str, by: int, tmp_path: Path) -> None:
    made = planned(name)
    target = chosen(made)
    good, bad = changed(made, lambda p: None if (p.rank, p.extent) == (2, target.extent) else p)
    # written last, so that it hides a part of its neighbour
    bad[target.offset + by : target.offset + by + target.data.size] = target.data
    bad = bad[: good.size]
    damage = controlled(made, tmp_path, good, bad)
    if damage.rank == 2:
        assert f"shifted by {by:+d} bytes" in damage.guess


@pytest.mark.parametrize("name", sorted(set(LAYOUTS) - {"random"}))
def test_two_ranks_swapped(name: str, tmp_path: Path) -> None:
    made = planned(name)
    swap = {1: 2, 2: 1}
    places = {(p.rank, p.extent): p.offset for p in pieces(made, content_of(made, 9, 1))}
    good, bad = changed(made, lambda p: replace(p, offset=places[swap.get(p.rank, p.rank), p.extent]))
    damage = controlled(made, tmp_path, good, bad)
    assert damage.rank in (1, 2)
    assert f"data of rank {swap[damage.rank]} " in damage.guess
    assert "ranks swapped" in damage.guess
    # every byte of both ranks is wrong, but for chance
    moved_bytes = made.ranks[1].total_bytes + made.ranks[2].total_bytes
    assert damage.bad_bytes > 0.98 * moved_bytes


@each_layout
def test_truncated_by_one_byte(name: str, tmp_path: Path) -> None:
    made = planned(name)
    content = content_of(made, 9, 1)
    good = image(made, content)
    damage = verify_file(write(tmp_path / "short", good[:-1]), made, content)
    last = [rank for rank in range(N) if made.ranks[rank].end == good.size]
    assert damage is not None
    assert (damage.offset, damage.bad_bytes) == (good.size - 1, 1)
    assert (damage.expected, damage.actual) == (int(good[-1]), None)
    assert damage.rank in last
    assert damage.call is not None
    assert f"the file ends at {good.size - 1}" in damage.guess


@each_layout
def test_one_call_omitted(name: str, tmp_path: Path) -> None:
    made = planned(name)
    call = made.ranks[2].call_count // 2
    good, bad = changed(made, lambda p: None if (p.rank, p.call) == (2, call) else p)
    damage = controlled(made, tmp_path, good, bad)
    assert (damage.rank, damage.call) == (2, call)
    assert damage.bad_bytes == made.ranks[2].call_bytes[call]
    assert "zeros: a hole" in damage.guess


@each_layout
def test_generation_0_left_in_place_of_1(name: str, tmp_path: Path) -> None:
    made = planned(name)
    target = chosen(made)
    old = {(p.rank, p.extent): p.data for p in pieces(made, content_of(made, 9, 0))}
    good, bad = changed(
        made, lambda p: replace(p, data=old[p.rank, p.extent]) if (p.rank, p.call) == (2, target.call) else p
    )
    damage = controlled(made, tmp_path, good, bad)
    assert (damage.rank, damage.call) == (2, target.call)
    assert "generation 0 in place of 1" in damage.guess
