"""Kernels over many ranges of bytes at once: split them, copy them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from pytest_pario.model import Int64

Bytes: TypeAlias = npt.NDArray[np.uint8]

LONG = 2048
"""From this length on a copy costs more than the Python that starts it."""
FEW = 16
AT_ONCE = 1 << 20
"""Bytes copied through a matrix at once, so that it stays in cache."""


def split(begins: Int64, lengths: Int64, unit: int) -> tuple[Int64, Int64, Int64]:
    """Split ranges at the multiples of `unit`; returns the range, the begin and the length of each part."""
    first = begins // unit
    counts = (begins + lengths - 1) // unit - first + 1
    owner = np.repeat(np.arange(begins.size), counts)
    number = first[owner] + np.arange(owner.size) - np.repeat(np.cumsum(counts) - counts, counts)
    low = np.maximum(number * unit, begins[owner])
    high = np.minimum((number + 1) * unit, (begins + lengths)[owner])
    return owner, low, high - low


def copy_pieces(out: Bytes, at: Int64, lengths: Int64, source: Bytes, begins: Int64) -> None:
    """Copy `lengths[i]` bytes from `source[begins[i]]` on to `out[at[i]]` on, for all i; shape (pieces,) each."""
    for length, which in equal_lengths(lengths):
        places, origins = at[which], begins[which]
        if length >= LONG or places.size <= FEW:
            for place, origin in zip(places.tolist(), origins.tolist(), strict=True):
                out[place : place + length] = source[origin : origin + length]
            continue
        # pieces of one length are rows of a matrix
        step = max(1, AT_ONCE // length)
        targets, rows = windows(out, length), windows(source, length)
        for first in range(0, places.size, step):
            targets[places[first : first + step]] = rows[origins[first : first + step]]


def equal_lengths(lengths: Int64) -> Iterator[tuple[int, Int64 | slice]]:
    """Each length and its pieces; there are fewer lengths than pieces, or the pieces are long."""
    if not lengths.size:
        return
    if int(lengths.min()) == int(lengths.max()):
        yield int(lengths[0]), slice(None)
        return
    order = np.argsort(lengths, kind="stable")
    edges = np.flatnonzero(np.diff(lengths[order])) + 1
    for part in np.split(order, edges):
        yield int(lengths[part[0]]), part


def windows(data: Bytes, length: int) -> Bytes:
    """All windows of `length` bytes, shape (size - length + 1, length), without a copy."""
    return as_strided(data, (data.size - length + 1, length), (1, 1), writeable=data.flags.writeable)
