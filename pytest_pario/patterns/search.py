"""Where in a stream some bytes come from, without making the stream."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pytest_pario.patterns.pieces import Bytes, windows
from pytest_pario.patterns.stream import COMMON, LENGTH, OWN, Stream, common_table

Words = npt.NDArray[np.uint64]

WORD = 8
"""Bytes that are looked up; by chance they occur in one stream of four thousand million."""
_BITS = np.uint64((1 << 22) - 1)


def find(stream: Stream, needle: Bytes) -> int | None:
    """The first place of these 8 bytes or more in the stream; None where they do not occur."""
    skip = _readable(needle)
    if skip is None:
        return None
    # needle = own xor common: which place of the common table would each place of the own one need?
    wanted = _words(stream.own, OWN) ^ needle[skip : skip + WORD].view(np.uint64)
    maybe, values, order = _common_words()
    for mine in np.flatnonzero(maybe[wanted & _BITS]).tolist():
        at = int(np.searchsorted(values, wanted[mine]))
        if at < COMMON and values[at] == wanted[mine]:
            place = (_join(mine, int(order[at])) - skip) % LENGTH
            if not stream.count_differences(needle, place):
                return place
    return None


def _readable(needle: Bytes) -> int | None:
    """The first word without a 1, for that may stand for a 0."""
    marked = np.flatnonzero(needle == 1)
    edges = np.concatenate(([-1], marked, [needle.size]))
    gaps = np.flatnonzero(np.diff(edges) > WORD)
    return int(edges[gaps[0]]) + 1 if gaps.size else None


def _join(mine: int, shared: int) -> int:
    """The place that lies at `mine` of the own and at `shared` of the common table."""
    return mine + OWN * ((shared - mine) * pow(OWN, -1, COMMON) % COMMON)


def _words(table: Bytes, size: int) -> Words:
    """The word that begins at each place of a table."""
    return np.ascontiguousarray(windows(table, WORD)[:size]).view(np.uint64).reshape(-1)


@lru_cache(maxsize=1)
def _common_words() -> tuple[npt.NDArray[np.bool_], Words, npt.NDArray[np.intp]]:
    """The low bits that occur in words of the common table, those words in order, and their places."""
    words = _words(common_table(), COMMON)
    maybe = np.zeros(int(_BITS) + 1, dtype=bool)
    maybe[words & _BITS] = True
    order = np.argsort(words)
    return maybe, words[order], order
