from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_pario.errors import ParameterError
from pytest_pario.model import Extents, Memory, Pattern
from pytest_pario.patterns import (
    Content,
    Scattered,
    Segmented,
    Strided,
    content_of,
    count_touched,
    make_room,
    memory_type,
    plan,
    ring_payload,
    whole_payload,
)
from pytest_pario.patterns.recipe import Contiguous, Vector
from pytest_pario.patterns.stamp import LINE, PERIOD
from pytest_pario.patterns.stream import make_stream
from tests.unit.patterns.layout_cases import Case, cases


@settings(max_examples=80, deadline=None)
@given(case=cases, gap=st.integers(0, 3))
def test_ring_and_whole_hold_the_same_data(case: Case, gap: int) -> None:
    # GEN-03, CONS-41
    memory = Memory(1, gap) if gap else Memory()
    made = plan(case.pattern(mem=memory), case.n)
    content = Content(4, 2)
    for rank in range(case.n):
        table = made.ranks[rank]
        ring = ring_payload(content, rank, table, memory)
        whole = whole_payload(content, rank, table, memory)
        for call in range(table.call_count):
            one, other = ring.call(call), whole.call(call)
            assert one.size == other.size == table.call_bytes[call] * (1 + gap)
            assert np.array_equal(one[:: 1 + gap], other[:: 1 + gap])


@settings(max_examples=60, deadline=None)
@given(case=cases)
def test_content_by_offset_is_a_function_of_the_offset(case: Case) -> None:
    # GEN-02
    made = plan(case.pattern(), case.n)
    content = Content(4, 0, "offset", any_writer=True)
    stream = make_stream(4, -1, 0)
    for rank in range(case.n):
        table = made.ranks[rank]
        payload = whole_payload(content, rank, table)
        for call in range(table.call_count):
            found, done = payload.call(call), 0
            for extent in range(*table.bounds[call : call + 2].tolist()):
                offset, length = int(table.offsets[extent]), int(table.lengths[extent])
                assert stream.count_differences(found[done : done + length], offset) == 0
                done += length
            assert done == found.size


def test_calls_are_aligned_wherever_they_begin_in_the_file() -> None:
    table = Strided(1032, per_call=3, ncalls=7).calls(1, 3)
    for payload in (ring_payload(Content(0), 1, table), whole_payload(Content(0), 1, table)):
        assert payload.data.ctypes.data % 4096 == 0
        assert not (payload.positions % LINE).any()


def test_a_ring_is_no_longer_than_a_period_and_the_longest_call() -> None:
    # GEN-03
    table = Strided(1000, ncalls=60_000).calls(0, 2)
    payload = ring_payload(Content(0), 0, table)
    assert PERIOD < payload.data.size <= PERIOD + 1000
    assert (payload.positions + payload.sizes).max() <= payload.data.size


def test_a_ring_holds_no_more_than_is_used() -> None:
    # far from the beginning of the file: the ring begins on the page of the first call
    table = Segmented(1 << 40, (3000,), start=9000, count=5).calls(1, 2)
    payload = ring_payload(Content(0), 0, table)
    assert 15_000 <= payload.data.size <= 15_000 + LINE + 4096
    assert (payload.positions + payload.sizes).max() <= payload.data.size


def test_a_ring_of_empty_calls() -> None:
    table = Extents(np.array([], np.int64), np.array([], np.int64), np.array([0, 0, 0]))
    payload = ring_payload(Content(0), 0, table)
    assert [payload.call(number).size for number in (0, 1)] == [0, 0]


def test_whole_payloads_use_no_byte_twice() -> None:
    # CONS-41
    table = Strided(100, per_call=3, ncalls=20).calls(0, 2)
    payload = whole_payload(Content(0), 0, table)
    ends = payload.positions + payload.sizes
    assert (ends[:-1] <= payload.positions[1:]).all()
    assert ends[-1] <= payload.data.size


def test_content_by_offset_is_laid_out_whole() -> None:
    # it does not lie in one piece of a ring
    made = plan(Pattern("x", Scattered(100, 40, per_call=5)), 2)
    content = content_of(made, 1)
    ring, whole = ring_payload(content, 0, made.ranks[0]), whole_payload(content, 0, made.ranks[0])
    assert np.array_equal(ring.positions, whole.positions)
    assert all(np.array_equal(ring.call(number), whole.call(number)) for number in range(4))


def test_memory_types() -> None:
    # MODEL-07
    assert memory_type(Memory(), 12) == Contiguous(12)
    assert memory_type(Memory(4, 3), 12) == Vector(3, 4, 7)
    with pytest.raises(ParameterError, match=r"mem\.piece = 5"):
        memory_type(Memory(5, 3), 12)


def test_touched_gaps_are_counted() -> None:
    memory = Memory(4, 3)
    room = make_room(Strided(12).calls(0, 1), memory)
    room.data[:] = 0xA5
    assert room.sizes.tolist() == [21]
    assert count_touched(memory, room.call(0), 12, 0xA5) == 0
    room.data[[3, 4, 20]] = 0
    assert count_touched(memory, room.call(0), 12, 0xA5) == 2
    assert count_touched(Memory(), room.call(0), 12, 0) == 0
