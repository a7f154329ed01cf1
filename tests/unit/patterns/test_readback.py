from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_pario.model import Memory, Pattern
from pytest_pario.patterns import (
    Content,
    Files,
    Segmented,
    Strided,
    content_of,
    make_room,
    plan,
    readback,
    verify_reads,
    whole_payload,
)
from tests.unit.patterns.layout_cases import Case, cases


@settings(max_examples=80, deadline=None)
@given(case=cases, gap=st.integers(0, 2), data=st.data())
def test_any_layout_reads_back_and_any_wrong_byte_is_found(case: Case, gap: int, data: st.DataObject) -> None:
    # GEN-04 b
    memory = Memory(1, gap) if gap else Memory()
    made = plan(case.pattern(mem=memory), case.n)
    content = content_of(made, 5)
    rank = data.draw(st.integers(0, case.n - 1))
    table = made.ranks[rank]
    read = whole_payload(content, rank, table, memory)
    assert verify_reads(read, made, rank, content) is None
    if not table.total_bytes:
        return
    call = data.draw(st.sampled_from(np.flatnonzero(table.call_bytes).tolist()))
    read.call(call)[0] ^= data.draw(st.integers(1, 255))
    damage = verify_reads(read, made, rank, content)
    assert damage is not None
    assert (damage.offset, damage.bad_bytes, damage.rank) == (table.first_offsets[call], 1, rank)
    assert damage.call == call or not case.disjoint


@pytest.mark.parametrize("portion", [100, 5000, 4 << 20])
def test_cross_read(portion: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # GEN-04 c: rank 0 reads what rank 1 wrote
    monkeypatch.setattr(readback, "PORTION", portion)
    made = plan(Pattern("x", Strided(1032, per_call=3, ncalls=9)), 3)
    content = content_of(made, 5)
    read = whole_payload(content, 1, made.ranks[1])
    assert verify_reads(read, made, 1, content) is None
    own = whole_payload(content, 0, made.ranks[0])
    damage = verify_reads(own, made, 1, content, path="cross read")
    assert damage is not None
    assert (damage.path, damage.offset, damage.rank, damage.call) == ("cross read", 1032, 1, 0)
    assert "data of rank 0 of offset 0" in damage.guess
    assert "ranks swapped" in damage.guess


def test_a_buffer_that_was_not_filled() -> None:
    made = plan(Pattern("x", Strided(1032, per_call=3, ncalls=9)), 3)
    room = make_room(made.ranks[2])
    room.data[:] = 0xA5
    damage = verify_reads(room, made, 2, content_of(made, 5))
    assert damage is not None
    assert damage.actual == 0xA5
    assert "bytes of 0xa5 only" in damage.guess


def test_an_older_generation_is_recognised() -> None:
    made = plan(Pattern("x", Strided(1032, per_call=3, ncalls=9)), 3)
    stale = whole_payload(content_of(made, 5, 0), 1, made.ranks[1])
    damage = verify_reads(stale, made, 1, content_of(made, 5, 1))
    assert damage is not None
    assert "generation 0 in place of 1" in damage.guess


def test_long_calls_are_compared_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readback, "PORTION", 1000)
    made = plan(Pattern("x", Segmented(5000, (5000,))), 2)
    content = content_of(made, 5)
    read = whole_payload(content, 1, made.ranks[1])
    read.call(0)[[2500, 4999]] ^= 0xFF
    damage = verify_reads(read, made, 1, content)
    assert damage is not None
    assert (damage.offset, damage.bad_bytes) == (7500, 2)


def test_small_files_differ_from_each_other() -> None:
    # CONS-74
    layout = Files(3, 100)
    made = plan(Pattern("f", layout, files="each"), 2)
    content = Content(1)
    read = whole_payload(content, layout.writer(1, 2), made.ranks[1])
    assert verify_reads(read, made, 1, content, writer=layout.writer(1, 2)) is None
    assert verify_reads(read, made, 1, content, writer=layout.writer(1, 1)) is not None
