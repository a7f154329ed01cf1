from __future__ import annotations

import lzma
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_pario.errors import ParameterError
from pytest_pario.model import Extents, Memory, Pattern
from pytest_pario.patterns import Content, Same, Scattered, Strided, Tiles, content_of, plan, ring_positions
from pytest_pario.patterns.mixing import mix, mix_words
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.search import find
from pytest_pario.patterns.stamp import LINE, PERIOD, SLOTS, cut
from pytest_pario.patterns.stream import ANY_WRITER, COMMON, LENGTH, OWN, Stream, common_table, make_stream


def oracle(source: int, size: int, stream: Stream) -> Bytes:
    places = [(source + i) for i in range(size)]
    own, common = stream.own.tolist(), common_table().tolist()
    return np.array([max(own[i % OWN] ^ common[i % COMMON], 1) for i in places], dtype=np.uint8)


def filled(source: int, size: int, stream: Stream) -> Bytes:
    out = np.zeros(size, dtype=np.uint8)
    stream.fill(out, source)
    return out


def is_prime(number: int) -> bool:
    return all(number % factor for factor in range(2, int(number**0.5) + 1))


def test_periods_are_prime() -> None:
    assert all(map(is_prime, (SLOTS, OWN, COMMON)))
    assert PERIOD == LINE * SLOTS
    # the common multiple of the period and a sector is 8 periods
    assert np.lcm(PERIOD, 512) == 8 * PERIOD


def test_no_byte_is_zero() -> None:
    # GEN-02
    for writer in range(4):
        data = filled(0, 3 * COMMON, make_stream(2, writer, 0))
        assert data.min() == 1
        assert np.bincount(data, minlength=256)[1:].min() > 0


def test_known_values() -> None:
    # the stamps of one release are those of the next: mix(0x9E37…15) is the first output of splitmix64 with seed 0
    assert mix(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF
    assert mix_words(np.array([0x9E3779B97F4A7C15], dtype=np.uint64))[0] == 0xE220A8397B1DCDAF
    assert filled(1 << 40, 8, make_stream(1, 2, 3)).tobytes().hex() == "486c9c0b5871a949"


@settings(max_examples=30, deadline=None)
@given(source=st.integers(0, 1 << 55), size=st.integers(0, 5000) | st.sampled_from([OWN, COMMON + 1, 2 * OWN + 3]))
def test_fill_is_a_pure_function_of_the_place(source: int, size: int) -> None:
    # GEN-02
    stream = make_stream(7, 0, 0)
    out = filled(source, size, stream)
    assert np.array_equal(out, oracle(source, size, stream))
    # any part of it is the same when filled alone
    low = size // 3
    assert np.array_equal(out[low:], filled(source + low, size - low, stream))


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.sampled_from([1, 8, 100, 2047, 2048, 70_000]), min_size=1, max_size=60),
    joined=st.booleans(),
    start=st.integers(0, 2 * LENGTH),
    seed=st.integers(0, 99),
)
def test_pieces_are_those_of_the_stream(lengths: list[int], joined: bool, start: int, seed: int) -> None:
    stream, sizes = make_stream(1, 1, 1), np.array(lengths)
    step = np.cumsum(sizes) - sizes
    sources = start + (step if joined else np.random.default_rng(seed).integers(0, LENGTH, size=sizes.size))
    at = step + np.arange(sizes.size)
    out = np.zeros(int(sizes.sum()) + sizes.size, dtype=np.uint8)
    stream.fill_pieces(out, at, sizes, sources)
    for place, size, source in zip(at.tolist(), lengths, sources.tolist(), strict=True):
        assert np.array_equal(out[place : place + size], filled(source, size, stream))
        assert out[place + size] == 0


def test_many_pieces_are_made_in_portions() -> None:
    stream, count = make_stream(1, 1, 1), 30_000
    out = np.zeros(count * 100, dtype=np.uint8)
    at = np.random.default_rng(1).permutation(count) * 100
    stream.fill_pieces(out, at, np.full(count, 100), at + 5)
    assert np.array_equal(out, filled(5, out.size, stream))


def test_data_do_not_compress() -> None:
    # ior issue 203: "incompressible" data that compress
    data = filled(0, 4 * COMMON, make_stream(3, 1, 0)).tobytes()
    assert len(zlib.compress(data, 9)) > 0.999 * len(data)
    assert len(lzma.compress(data)) > 0.999 * len(data)


@pytest.mark.parametrize("writer", [ANY_WRITER, 0, 1, 6, 4095])
@pytest.mark.parametrize("generation", [0, 1, 2])
def test_neighbours_differ_in_every_word(writer: int, generation: int) -> None:
    # GEN-02
    words = filled(0, 1 << 20, make_stream(11, writer, generation)).view(np.uint64)
    for other in (
        make_stream(11, writer + 1, generation),
        make_stream(11, writer, generation + 1),
        make_stream(12, writer, generation),
    ):
        assert (words != filled(0, 1 << 20, other).view(np.uint64)).all()


@pytest.mark.parametrize(
    "shift", [1, 7, 64, 512, 4096, OWN, COMMON, 1 << 20, (1 << 20) + 8, PERIOD, 1 << 32, 77 * OWN, 12_345 * COMMON]
)
def test_shifted_data_differ_almost_everywhere(shift: int) -> None:
    stream = make_stream(5, 0, 0)
    assert stream.count_differences(filled(shift, 4096, stream), 0) > 4000


def test_differences_are_counted_exactly() -> None:
    stream = make_stream(5, 0, 0)
    data = filled(123, 2 * COMMON + 77, stream)
    assert stream.count_differences(data, 123) == 0
    for place in (0, 5, OWN - 124, COMMON, data.size - 1):
        data[place] ^= 1
    assert stream.count_differences(data, 123) == 5


@settings(max_examples=30, deadline=None)
@given(place=st.integers(0, LENGTH - 1), size=st.integers(8, 40), writer=st.integers(-1, 3))
def test_bytes_are_found_in_their_stream(place: int, size: int, writer: int) -> None:
    # GEN-07
    needle = filled(place, size, make_stream(9, writer, 1))
    readable = any(1 not in needle[i : i + 8] for i in range(size - 7))
    assert find(make_stream(9, writer, 1), needle) == (place if readable else None)
    assert find(make_stream(9, writer, 0), needle) is None


@settings(max_examples=60, deadline=None)
@given(
    size=st.sampled_from([1, 8, 63, 64, 65, 1000, 1032, 1 << 20, (1 << 20) + 8, 70 << 20]),
    step=st.integers(1, 1 << 20),
    base=st.integers(0, 1 << 40),
)
def test_calls_further_on_begin_further_on_in_the_ring(size: int, step: int, base: int) -> None:
    # GEN-03: two calls share bytes only at the distance of a whole number of periods
    firsts = base + np.array([0, size, size + step])
    positions = ring_positions(Extents(firsts, np.full(3, size), np.arange(4)))
    assert not (positions % LINE).any()
    assert positions.max() < PERIOD
    gaps = np.diff(positions) % PERIOD
    wanted = np.diff(firsts) if size >= LINE else np.diff(firsts) * LINE
    error = (gaps - wanted + LINE) % PERIOD
    assert (error <= 2 * LINE).all()


def test_content_by_offset_is_the_byte_of_the_offset() -> None:
    # GEN-02
    table = Strided(5, per_call=3, ncalls=2).calls(1, 3)
    cuts = cut(table, Content(0, by="offset"))
    assert cuts.sources.tolist() == table.offsets.tolist()


def test_content_by_call_runs_on_through_the_call() -> None:
    # GEN-03
    table = Strided(5, per_call=3, ncalls=2).calls(1, 3)
    cuts = cut(table, Content(0))
    # calls of 15 bytes at 5 and 50: shorter than a line, so that each offset has a line of its own
    assert cuts.sources.tolist() == [LINE * o + d for o in (5, 50) for d in (0, 5, 10)]
    assert cuts.calls.tolist() == [0, 0, 0, 1, 1, 1]
    assert cuts.places.tolist() == [0, 5, 10] * 2


def test_gaps_in_memory_skip_bytes_of_the_stream() -> None:
    # one extent of 10 bytes, pieces of 4 bytes with gaps of 3: memory 0-3, 7-10, 14-15
    table = Extents(np.array([100]), np.array([10]), np.array([0, 1]))
    cuts = cut(table, Content(0), Memory(4, 3))
    begin = int(ring_positions(table, Memory(4, 3))[0])
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
    assert content.stream(0) is content.stream(1)
    assert content_of(plan(Pattern("s", Same(8)), 2), 3).any_writer
    assert not content_of(plan(Pattern("s", Strided(8)), 2), 3).any_writer


def test_calls_that_mix_are_stamped_by_offset() -> None:
    # a call that begins inside another one would take the same bytes of the ring
    assert content_of(plan(Pattern("s", Scattered(8, 40, per_call=2)), 2), 3, 1) == Content(3, 1, "offset")
    assert content_of(plan(Pattern("s", Scattered(8, 40, per_call=1)), 2), 3) == Content(3)
    assert content_of(plan(Pattern("s", Scattered(8, 40, region=80)), 2), 3) == Content(3)


def test_impossible_contents() -> None:
    with pytest.raises(ParameterError, match="generation"):
        Content(0, -1)
    with pytest.raises(ParameterError, match="by = 'call'"):
        Content(0, any_writer=True)
