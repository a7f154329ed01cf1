"""Endless streams of pseudo-random bytes, one for each (seed, writer, generation), quick to make at any place.

Byte i of a stream is OWN[i mod 65521] xor COMMON[i mod 65537], or 1 where that is 0. OWN is the writer's table of
random bytes, COMMON one of all streams, and the lengths are prime: the stream repeats after 4 294 049 777 bytes only,
and no two cuts of 16 bytes and more are alike before that. The tables stay in a second-level cache, where a tile of the
same length would not fit in memory for a few hundred writers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pytest_pario.model import Int64
from pytest_pario.patterns.mixing import GOLDEN, mix, mix_words
from pytest_pario.patterns.pieces import FEW, LONG, Bytes, copy_pieces, equal_lengths, windows

OWN = 65_521
COMMON = 65_537
LENGTH = OWN * COMMON
"""Bytes after which a stream repeats."""
ANY_WRITER = -1
"""The writer of bytes that several ranks may write."""

_AT_ONCE = OWN
"""Bytes made at once: no more than the shorter table, so that each table is read in one piece."""
_PORTION = 1 << 20
"""Bytes of pieces that are looked at together."""
_ONES = np.ones(_AT_ONCE, dtype=np.uint8)
_COMMON_KEY = mix(GOLDEN)


@dataclass(frozen=True, eq=False)
class Stream:
    """The bytes of one writer; a place is the number of a byte in the stream."""

    own: Bytes
    """The table of the writer, twice over so that a cut may begin anywhere in it; read-only."""

    def fill(self, out: Bytes, source: int) -> None:
        """Write bytes `source`, `source` + 1, … into `out`."""
        common = common_table()
        for done in range(0, out.size, _AT_ONCE):
            part = out[done : done + _AT_ONCE]
            mine, shared = (source + done) % OWN, (source + done) % COMMON
            np.bitwise_xor(self.own[mine : mine + part.size], common[shared : shared + part.size], out=part)
            _raise_zeros(part)

    def fill_pieces(self, out: Bytes, at: Int64, lengths: Int64, sources: Int64) -> None:
        """Write `lengths[i]` bytes from `sources[i]` on into `out` at `at[i]`, for all i; shape (pieces,) each."""
        first, ends = 0, np.cumsum(lengths)
        while first < lengths.size:
            stop = int(np.searchsorted(ends, ends[first] + _PORTION, side="right"))
            part = slice(first, stop)
            self._fill_portion(out, at[part], lengths[part], sources[part])
            first = stop

    def _fill_portion(self, out: Bytes, at: Int64, lengths: Int64, sources: Int64) -> None:
        """Pieces that go on where the one before ended are made together, and then put where they belong."""
        begins = np.flatnonzero(np.append(True, sources[1:] != sources[:-1] + lengths[:-1]))
        if begins.size == lengths.size:
            self._fill_apart(out, at, lengths, sources)
            return
        ends = np.cumsum(lengths)
        run = np.empty(int(ends[-1]), dtype=np.uint8)
        self._fill_apart(run, (ends - lengths)[begins], np.add.reduceat(lengths, begins), sources[begins])
        copy_pieces(out, at, lengths, run, ends - lengths)

    def _fill_apart(self, out: Bytes, at: Int64, lengths: Int64, sources: Int64) -> None:
        for length, which in equal_lengths(lengths):
            places, begins = at[which], sources[which]
            if length >= LONG or places.size <= FEW:
                for place, begin in zip(places.tolist(), begins.tolist(), strict=True):
                    self.fill(out[place : place + length], begin)
            else:
                self._fill_rows(windows(out, length), places, begins, length)

    def _fill_rows(self, targets: Bytes, places: Int64, begins: Int64, length: int) -> None:
        """Pieces of one length are rows of a matrix."""
        mine, shared = windows(self.own, length), windows(common_table(), length)
        step = max(1, _AT_ONCE // length)
        for first in range(0, places.size, step):
            part = begins[first : first + step]
            rows = mine[part % OWN]
            rows ^= shared[part % COMMON]
            _raise_zeros(rows.reshape(-1))
            targets[places[first : first + step]] = rows

    def count_differences(self, data: Bytes, source: int) -> int:
        """How many bytes of `data` differ from bytes `source`, `source` + 1, …."""
        wanted = np.empty(min(data.size, _AT_ONCE), dtype=np.uint8)
        differs, bad = np.empty(wanted.size, dtype=bool), 0
        for done in range(0, data.size, _AT_ONCE):
            part = data[done : done + _AT_ONCE]
            self.fill(wanted[: part.size], source + done)
            bad += int(np.count_nonzero(np.not_equal(part, wanted[: part.size], out=differs[: part.size])))
        return bad


@lru_cache(maxsize=256)
def make_stream(seed: int, writer: int, generation: int) -> Stream:
    """The stream of (seed, writer, generation)."""
    # mixing is one to one: distinct (writer, generation) give distinct keys, and these distinct words everywhere
    return Stream(_make_table(mix(seed) ^ mix((writer + 1) << 32 | generation), OWN))


@lru_cache(maxsize=1)
def common_table() -> Bytes:
    """The table that all streams have in common, twice over; read-only."""
    return _make_table(_COMMON_KEY, COMMON)


def _make_table(key: int, size: int) -> Bytes:
    words = np.arange(-(-size // 8), dtype=np.uint64) * np.uint64(GOLDEN) + np.uint64(key)
    table = mix_words(words).astype("<u8").view(np.uint8)[:size]
    twice = np.concatenate((table, table))
    twice.flags.writeable = False
    return twice


def _raise_zeros(part: Bytes) -> None:
    """0 becomes 1, so that a hole cannot pass for data."""
    # two arrays: with a scalar numpy takes ten times as long
    np.maximum(part, _ONES[: part.size], out=part)
