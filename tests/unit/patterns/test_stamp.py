from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_pario.errors import ParameterError
from pytest_pario.model import Extents, Memory, Pattern
from pytest_pario.patterns import Content, Same, Strided, Tiles, content_of, plan, ring_positions
from pytest_pario.patterns.mixing import mix, mix_words
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.stamp import ANY_WRITER, LINE, PERIOD, SLOTS, count_differences, cut, fill, make_tile


def stream(source: int, size: int, tile: Bytes) -> Bytes:
    return tile[(source + np.arange(size)) % PERIOD]


def filled(source: int, size: int, tile: Bytes) -> Bytes:
    out = np.zeros(size, dtype=np.uint8)
    fill(out, source, tile)
    return out


def test_the_period_is_a_prime_number_of_lines() -> None:
    assert PERIOD == LINE * SLOTS
    assert all(SLOTS % factor for factor in range(2, 64))


def test_no_byte_is_zero() -> None:
    # GEN-02
    assert all(make_tile(seed, writer, 0).min() == 1 for seed in range(4) for writer in range(4))


def test_known_values() -> None:
    # the stamps of one release are those of the next: mix(0x9E37…15) is the first output of splitmix64 with seed 0
    assert mix(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF
    assert mix_words(np.array([0x9E3779B97F4A7C15], dtype=np.uint64))[0] == 0xE220A8397B1DCDAF
    assert make_tile(1, 2, 3)[:8].tobytes().hex() == "811f1acb5f136b04"


@settings(max_examples=30, deadline=None)
@given(source=st.integers(0, 1 << 55), size=st.integers(0, 3 * PERIOD // 2))
def test_fill_is_a_pure_function_of_the_place(source: int, size: int) -> None:
    tile = make_tile(7, 0, 0)
    out = filled(source, size, tile)
    assert np.array_equal(out, stream(source, size, tile))
    # any part of it is the same when filled alone
    low = size // 3
    assert np.array_equal(out[low:], filled(source + low, size - low, tile))


def test_data_do_not_compress() -> None:
    # ior issue 203: "incompressible" data that compress
    data = filled(0, 2 * PERIOD, make_tile(3, 1, 0)).tobytes()
    assert len(zlib.compress(data, 9)) > 0.999 * len(data)


@pytest.mark.parametrize("writer", [ANY_WRITER, 0, 1, 6, 4095])
@pytest.mark.parametrize("generation", [0, 1, 2])
def test_neighbours_differ_in_every_word(writer: int, generation: int) -> None:
    # GEN-02: mixing is one to one, so that words at one place differ with certainty
    tile = make_tile(11, writer, generation)[:PERIOD].view(np.uint64)
    for other in (
        make_tile(11, writer + 1, generation),
        make_tile(11, writer, generation + 1),
        make_tile(12, writer, generation),
    ):
        assert (tile != other[:PERIOD].view(np.uint64)).all()


@pytest.mark.parametrize("shift", [1, 2, 7, 8, 63, 64, 512, 1024, 1032, 4096, 65536, 1 << 20, (1 << 20) + 8, 1 << 32])
def test_shifted_data_differ_almost_everywhere(shift: int) -> None:
    tile = make_tile(5, 0, 0)
    assert count_differences(filled(shift, 4096, tile), 0, tile) > 4000
    # by call: a call that begins elsewhere takes other bytes of the ring
    first = np.array([0, shift])
    table = Extents(first, np.array([8, 8]), np.arange(3))
    assert len(set(ring_positions(table).tolist())) == 2


def test_differences_are_counted_exactly() -> None:
    tile = make_tile(5, 0, 0)
    data = filled(123, 2 * PERIOD + 77, tile)
    assert count_differences(data, 123, tile) == 0
    for place in (0, 5, PERIOD - 124, PERIOD, data.size - 1):
        data[place] ^= 1
    assert count_differences(data, 123, tile) == 5


def test_content_by_offset_is_the_byte_of_the_offset() -> None:
    # GEN-02
    table = Strided(5, per_call=3, ncalls=2).calls(1, 3)
    cuts = cut(table, Content(0, by="offset"))
    assert cuts.sources.tolist() == table.offsets.tolist()


def test_content_by_call_runs_on_through_the_call() -> None:
    # GEN-03
    table = Strided(5, per_call=3, ncalls=2).calls(1, 3)
    cuts = cut(table, Content(0))
    firsts = [5, 50]
    assert cuts.sources.tolist() == [LINE * o + d for o in firsts for d in (0, 5, 10)]
    assert cuts.calls.tolist() == [0, 0, 0, 1, 1, 1]
    assert cuts.places.tolist() == [0, 5, 10] * 2


def test_gaps_in_memory_skip_bytes_of_the_stream() -> None:
    # one extent of 10 bytes, pieces of 4 bytes with gaps of 3: memory 0-3, 7-10, 14-15
    table = Extents(np.array([100]), np.array([10]), np.array([0, 1]))
    cuts = cut(table, Content(0), Memory(4, 3))
    begin = int(ring_positions(table)[0])
    assert cuts.offsets.tolist() == [100, 104, 108]
    assert cuts.lengths.tolist() == [4, 4, 2]
    assert cuts.sources.tolist() == [begin, begin + 7, begin + 14]
    by_offset = cut(table, Content(0, by="offset"), Memory(4, 3))
    assert by_offset.sources.tolist() == [100, 104, 108]
    assert by_offset.places.tolist() == [0, 7, 14]


def test_overlapping_layouts_do_not_show_the_writer() -> None:
    # GEN-02, CONS-65
    content = content_of(plan(Pattern("t", Tiles(2, 1, 4, 4, 3, ox=1)), 2), 3, 1)
    assert content == Content(3, 1, "offset", any_writer=True)
    assert np.array_equal(content.tile(0), content.tile(1))
    assert content_of(plan(Pattern("s", Same(8)), 2), 3).any_writer
    assert not content_of(plan(Pattern("s", Strided(8)), 2), 3).any_writer


def test_impossible_contents() -> None:
    with pytest.raises(ParameterError, match="generation"):
        Content(0, -1)
    with pytest.raises(ParameterError, match="by = 'call'"):
        Content(0, any_writer=True)
