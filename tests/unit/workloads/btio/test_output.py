"""What goes into files: rows that are joined, records that are cut, fields of replay, and what is told of damage."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_pario.errors import ParameterError
from pytest_pario.patterns import Multipartition
from pytest_pario.patterns.multipartition import Partition
from pytest_pario.workloads.btio.classes import COMPONENTS, find_class
from pytest_pario.workloads.btio.marks import FieldDamage, Mark, Marker, fill, find_damage, synthetic_field
from pytest_pario.workloads.btio.outputs import find_subtype
from pytest_pario.workloads.btio.outputs.epio import record_parts
from pytest_pario.workloads.btio.outputs.fortran import RECORD_BUFFER, Held, hold_back, merge_rows
from pytest_pario.workloads.btio.outputs.full import hints_at_open
from pytest_pario.workloads.btio.result import Comparison
from pytest_pario.workloads.btio.run import Run

SMALL = find_class("S")


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 3), st.integers(0, 8), st.sampled_from([40, 400, 65560]))
def test_joined_rows_are_the_same_bytes(edge: int, rank: int, most: int) -> None:
    table = Multipartition(12, 40).calls(rank % edge**2, edge**2)
    starts = np.cumsum(table.lengths) - table.lengths
    places, offsets, sizes = merge_rows(starts, table.offsets, table.lengths, most)
    assert sizes.max() <= most
    before, after = (
        np.concatenate([np.stack([np.arange(s, s + n), np.arange(o, o + n)]) for s, o, n in zip(*rows, strict=True)], 1)
        for rows in ((starts, table.offsets, table.lengths), (places, offsets, sizes))
    )
    assert np.array_equal(before, after)


def fortran_writes(rank: int, ranks: int) -> list[tuple[int, int]]:
    """(offset, size) of each write of a rank, in all fields of class S."""
    table = Multipartition(12, 40).calls(rank, ranks)
    starts, held, found = np.cumsum(table.lengths) - table.lengths, Held(), []
    for number in range(SMALL.fields):
        rows = (starts, table.offsets + number * SMALL.field_bytes, table.lengths)
        (_, offsets, sizes), held = hold_back(rows, held, RECORD_BUFFER)
        found += list(zip(offsets.tolist(), sizes.tolist(), strict=True))
    return [*found, (held.offset, held.size)]


def test_as_many_writes_as_the_reference_makes() -> None:
    # BT §9.5: 12 of 65560 and 1 of 42720 bytes on one rank; 3410 of 240 and 23 of 480 on four
    assert [size for _, size in fortran_writes(0, 1)] == [65560] * 12 + [42720]
    four = [write for rank in range(4) for write in fortran_writes(rank, 4)]
    assert Counter(size for _, size in four) == {240: 3410, 480: 23}
    # together they are the file
    ends = {offset: offset + size for offset, size in four}
    at = 0
    while at in ends:
        at = ends[at]
    assert at == sum(size for _, size in four) == SMALL.total_bytes


def test_a_full_buffer_is_not_held_back() -> None:
    rows = tuple(np.array(one) for one in ([0, 40], [0, 40], [40, 40]))
    calls, held = hold_back(rows, Held(-40, 0, 0), 80)  # type: ignore[arg-type]
    assert ([one.tolist() for one in calls], held) == ([[0], [0], [80]], Held())


def test_records_longer_than_a_length_can_say_are_cut() -> None:
    assert record_parts(100) == [(100, 100, 100)]
    # a negative length before: more follows; after: more came before
    assert record_parts(25, most=10) == [(-10, 10, 10), (-10, 10, -10), (5, 5, -5)]
    assert sum(length for _, length, _ in record_parts(3 << 30)) == 3 << 30


def test_a_large_collective_buffer_is_asked_for_at_open() -> None:
    # on an open file it can only shrink
    assert hints_at_open({"cb_buffer_size": "33554432", "cb_nodes": "2"}) == {"cb_buffer_size": "33554432"}
    assert hints_at_open({"cb_buffer_size": "16777216"}) is None
    assert hints_at_open({"cb_nodes": "2"}) is None


def test_subtypes_are_found_by_name() -> None:
    assert find_subtype("none") is None
    with pytest.raises(ParameterError, match=r"subtype = 'fancy'.*none, full, simple, fortran, epio"):
        find_subtype("fancy")


@pytest.mark.parametrize(
    ("given", "named"),
    [({"mode": "dreamt"}, "solved or replay"), ({"subtype": "none", "mode": "replay"}, "with output")],
)
def test_impossible_runs_are_refused(given: dict[str, str], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        Run(SMALL, **{"subtype": "full", **given})  # type: ignore[arg-type]


def test_solved_and_replayed_results_never_share_a_name() -> None:
    assert Run(SMALL, "full", "solved").name != Run(SMALL, "full", "replay").name


def marks_of(partition: Partition, seed: int = 1) -> list[Mark]:
    flat, marker = np.empty(COMPONENTS * partition.points), Marker(SMALL, partition)
    marks = []
    for number in range(SMALL.fields):
        fill(flat, partition, synthetic_field(SMALL, number, seed))
        marks.append(marker.mark(flat))
    return marks


def test_fields_of_replay_differ_everywhere() -> None:
    partition = Partition(12, 1, 0)
    fields = []
    for number, seed in ((0, 1), (1, 1), (0, 2)):
        flat = np.empty(COMPONENTS * partition.points)
        fill(flat, partition, synthetic_field(SMALL, number, seed))
        fields.append(flat)
    assert not any((one == other).any() for one, other in ((fields[0], fields[1]), (fields[0], fields[2])))
    # neighbours and components differ too: a number in a wrong place is a wrong number
    assert len(np.unique(fields[0])) > 0.99 * fields[0].size


@pytest.mark.parametrize("ranks", [1, 4, 9])
def test_parts_of_a_field_are_the_same_on_any_number_of_ranks(ranks: int) -> None:
    whole = np.empty(COMPONENTS * 12**3)
    fill(whole, Partition(12, 1, 0), synthetic_field(SMALL, 3, 7))
    for rank in range(ranks):
        partition = Partition(12, ranks, rank)
        part = np.empty(COMPONENTS * partition.points)
        fill(part, partition, synthetic_field(SMALL, 3, 7))
        table = Multipartition(12, 40).calls(rank, ranks)
        pieces = [whole[o // 8 : (o + n) // 8] for o, n in zip(table.offsets, table.lengths, strict=True)]
        assert np.array_equal(part, np.concatenate(pieces))


def test_damage_is_named() -> None:
    partition = Partition(12, 4, 2)
    written = marks_of(partition)

    def look(found: list[Mark]) -> FieldDamage | None:
        return find_damage("file", SMALL, partition, written, found)

    assert look(list(written)) is None
    flat = np.empty(COMPONENTS * partition.points)
    fill(flat, partition, synthetic_field(SMALL, 5, 1))
    flat.view(np.uint64)[700] ^= np.uint64(1)
    flipped = Marker(SMALL, partition).mark(flat)
    # number 700 of the first cell, whose planes have 6 * 6 * 5 numbers: plane 3, cell at x 0, y 6, z 0
    harmed = look([*written[:5], flipped, *written[6:]])
    assert harmed is not None
    assert (harmed.field, harmed.planes, harmed.rank) == (5, 1, 2)
    assert harmed.offset == 5 * SMALL.field_bytes + 40 * (12 * (6 + 12 * 3))
    assert "some bytes were changed" in str(harmed)
    zero = Marker(SMALL, partition).mark(np.zeros_like(flat))
    assert "the field is missing" in str(look([*written[:3], zero, *written[4:]]))
    swapped = [*written[:2], written[9], *written[3:9], written[2], *written[10:]]
    assert "field 2 of 12" in str(look(swapped))
    assert "it holds field 9" in str(look(swapped))
    assert "stale file" in str(look(marks_of(partition, seed=2)))


def test_norms_that_are_no_numbers_never_hold() -> None:
    assert not Comparison("delta", (float("nan"),) * 5, SMALL.error).holds
    assert not Comparison("delta", SMALL.error, None).holds
    assert Comparison("delta", SMALL.error, SMALL.error).holds
    off = tuple(value * (1 + 2e-8) for value in SMALL.error)
    assert not Comparison("delta", off, SMALL.error).holds
