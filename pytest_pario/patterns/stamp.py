"""Payload stamps: every byte a pure function of place, writer, generation and seed, and never 0 (GEN-02, GEN-03).

Each (seed, writer, generation) has an endless stream of bytes, the repetition of one pseudo-random tile. A file holds
cuts of these streams, and where a cut begins follows from the file offset alone:

- by offset: the byte at file offset x is byte x of the stream. Ranks that write the same byte agree on it.
- by call: the byte at data position d of a call whose first byte lies at file offset o is byte 64 * o + d of the
  stream. A rank can then take every call's data from one ring that was filled before the clock started, at a
  position that is always aligned to a cache line: elsewhere writes of 64 KiB and more to tmpfs ran a quarter slower.

The tile has 64 * 4073 bytes. 4073 is prime: a call displaced by any distance but a multiple of 4073 bytes holds other
bytes, and no usual block size, stripe or stride is such a multiple. Of the primes from 3500 to 4096 it is the largest
for which pieces of neighbouring calls of the usual sizes never fall on the same bytes. A ring of this size stays in a
second-level cache: from one of 4 MiB, writes of 1 KiB ran 9 % slower on tmpfs and 3 % on ext4 than from a fixed buffer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from pytest_pario.errors import ParameterError
from pytest_pario.model import Extents, Int64, Memory, Plan
from pytest_pario.patterns.mixing import GOLDEN, mix, mix_words
from pytest_pario.patterns.pieces import Bytes, copy_pieces, split
from pytest_pario.patterns.protocol import Layout

LINE = 64
SLOTS = 4073
PERIOD = LINE * SLOTS
"""Bytes after which a stream repeats."""

ANY_WRITER = -1
"""The writer of bytes that several ranks may write."""


@dataclass(frozen=True)
class Content:
    """What the bytes of a file should be."""

    seed: int
    generation: int = 0
    """0 after the initial write, 1 after a rewrite, and so on."""
    by: Literal["call", "offset"] = "call"
    any_writer: bool = False
    """Whether the bytes are the same whoever writes them."""

    def __post_init__(self) -> None:
        if not 0 <= self.generation < 1 << 32:
            raise ParameterError("generation", self.generation, "0 or more")
        if self.any_writer and self.by != "offset":
            raise ParameterError("by", self.by, "offset where several ranks write the same byte")

    def tile(self, writer: int) -> Bytes:
        """The tile of a writer, twice over; shape (2 * PERIOD,), read-only."""
        return make_tile(self.seed, ANY_WRITER if self.any_writer else writer, self.generation)


def content_of(plan: Plan, seed: int, generation: int = 0) -> Content:
    """By call, or by offset and for any writer where the layout lets ranks write the same byte."""
    layout = plan.pattern.placed(plan.n)
    if isinstance(layout, Layout) and layout.overlapping:
        return Content(seed, generation, "offset", any_writer=True)
    return Content(seed, generation)


@lru_cache(maxsize=128)
def make_tile(seed: int, writer: int, generation: int) -> Bytes:
    """The tile of (seed, writer, generation), twice over so that a cut may begin anywhere in it."""
    # mixing is one to one: distinct (writer, generation) give distinct keys, and these distinct words everywhere
    key = mix(seed) ^ mix((writer + 1) << 32 | generation)
    words = np.arange(PERIOD // 8, dtype=np.uint64) * np.uint64(GOLDEN) + np.uint64(key)
    tile = mix_words(words).astype("<u8").view(np.uint8)
    # 0 becomes 1, so that a hole cannot pass for data
    np.maximum(tile, 1, out=tile)
    twice = np.concatenate((tile, tile))
    twice.flags.writeable = False
    return twice


def fill(out: Bytes, source: int, tile: Bytes) -> None:
    """Write bytes `source`, `source` + 1, … of the stream into `out`."""
    begin = source % PERIOD
    for done in range(0, out.size, PERIOD):
        part = out[done : done + PERIOD]
        part[:] = tile[begin : begin + part.size]


def fill_pieces(out: Bytes, at: Int64, lengths: Int64, sources: Int64, tile: Bytes) -> None:
    """Write `lengths[i]` bytes of the stream from `sources[i]` on into `out` at `at[i]`, for all i; shape (pieces,)."""
    if lengths.size and lengths.max() > PERIOD:
        owner, begins, lengths = split(np.zeros_like(lengths), lengths, PERIOD)
        at, sources = at[owner] + begins, sources[owner] + begins
    copy_pieces(out, at, lengths, tile, sources % PERIOD)


def count_differences(data: Bytes, source: int, tile: Bytes) -> int:
    """How many bytes of `data` differ from bytes `source`, `source` + 1, … of the stream."""
    begin, bad = source % PERIOD, 0
    differs = np.empty(min(data.size, _AT_ONCE), dtype=bool)
    for done in range(0, data.size, _AT_ONCE):
        part = data[done : done + _AT_ONCE]
        at = (begin + done) % PERIOD
        np.not_equal(part, tile[at : at + part.size], out=differs[: part.size])
        bad += int(np.count_nonzero(differs[: part.size]))
    return bad


_AT_ONCE = 1 << 17


def ring_positions(table: Extents) -> Int64:
    """Where the data of each call begin in a ring, shape (calls,)."""
    # position = 64 * (o mod 4073), o the offset of the call's first byte
    return table.first_offsets % SLOTS * LINE


@dataclass(frozen=True, eq=False)
class Cuts:
    """A rank's bytes as cuts of its stream, in the order of the data; shape (cuts,) each."""

    offsets: Int64
    """Where each cut lies in the file."""
    lengths: Int64
    sources: Int64
    """Its first byte in the stream."""
    calls: Int64
    """The call that moves it."""
    places: Int64
    """Where it lies in the memory of its call."""


def cut(table: Extents, content: Content, memory: Memory = Memory()) -> Cuts:  # noqa: B008
    """Cut the streams along the extents, and along the pieces of memory where it has gaps."""
    ends = np.concatenate(([0], np.cumsum(table.lengths)))
    calls = np.repeat(np.arange(table.call_count), np.diff(table.bounds))
    # data position of each extent in its call
    within = ends[:-1] - ends[table.bounds[:-1]][calls]
    offsets, lengths, places = table.offsets, table.lengths, within
    if memory.gap:
        owner, low, lengths = split(within, lengths, memory.piece)
        offsets, calls = offsets[owner] + low - within[owner], calls[owner]
        # data position d lies d // piece gaps further on in memory
        places = low + low // memory.piece * memory.gap
    sources = offsets if content.by == "offset" else ring_positions(table)[calls] + places
    return Cuts(offsets, lengths, sources, calls, places)
