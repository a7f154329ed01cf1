"""Verifier of what was read: every rank compares its buffers with what the writers' streams say (GEN-04 b, c)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pytest_pario.model import Damage, Int64, Plan
from pytest_pario.patterns.diagnosis import Finding, diagnose
from pytest_pario.patterns.expected import expect
from pytest_pario.patterns.payload import Payload
from pytest_pario.patterns.pieces import split
from pytest_pario.patterns.stamp import Content, Cuts, cut

PORTION = 4 << 20
"""Bytes compared at once."""


def verify_reads(
    room: Payload, plan: Plan, rank: int, content: Content, *, writer: int | None = None, path: str = "data read"
) -> Damage | None:
    """Compare the memory of each call with what `rank` wrote at its places; None if all is right.

    Give the reader's own rank, or that of the neighbour whose bytes were read. Gaps in memory are not looked at.
    """
    cuts = _bounded(cut(plan.ranks[rank], content, plan.pattern.mem))
    at = room.positions[cuts.calls] + cuts.places
    stream = content.stream(rank if writer is None else writer)
    bad_bytes, first_bad = 0, None
    for part in _portions(cuts.lengths):
        low, high = int(at[part].min()), int((at + cuts.lengths)[part].max())
        found = room.data[low:high]
        wanted = found.copy()
        stream.fill_pieces(wanted, at[part] - low, cuts.lengths[part], cuts.sources[part])
        differs = found != wanted
        bad_bytes += int(np.count_nonzero(differs))
        if bad_bytes and first_bad is None:
            place = low + int(np.argmax(differs))
            number = part.start + int(np.flatnonzero((at[part] <= place) & (place < (at + cuts.lengths)[part]))[0])
            piece = slice(int(at[number]) - low, int(at[number] + cuts.lengths[number]) - low)
            begin = int(cuts.offsets[number])
            first_bad = Finding(begin + place - int(at[number]), begin, wanted[piece], found[piece].copy())
    if first_bad is None:
        return None
    writers = {} if writer is None else {rank: writer}
    expected = expect([plan], content, first_bad.offset, first_bad.offset + 1, ranks=[rank], writers=writers)
    return replace(diagnose(path, first_bad, expected, [plan], 0), bad_bytes=bad_bytes)


def _bounded(cuts: Cuts) -> Cuts:
    """The same cuts, none of them longer than a portion."""
    if cuts.lengths.max(initial=0) <= PORTION:
        return cuts
    owner, skip, lengths = split(np.zeros_like(cuts.lengths), cuts.lengths, PORTION)
    offsets, sources, places = (column[owner] + skip for column in (cuts.offsets, cuts.sources, cuts.places))
    return Cuts(offsets, lengths, sources, cuts.calls[owner], places)


def _portions(lengths: Int64) -> Iterator[slice]:
    """Slices of cuts that together hold about one portion each."""
    ends = np.cumsum(lengths)
    first = 0
    while first < lengths.size:
        done = int(ends[first] - lengths[first])
        stop = max(first + 1, int(np.searchsorted(ends, done + PORTION, side="right")))
        yield slice(first, stop)
        first = stop
