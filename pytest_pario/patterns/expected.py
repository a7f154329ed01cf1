"""The file as it should be, from the extent tables alone, region by region."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_pario.model import Int64, Plan
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.stamp import Content, cut


@dataclass(frozen=True, eq=False)
class Expected:
    """All cuts of the writers' streams that lie in one stretch of a file, sorted by offset; shape (cuts,) each."""

    content: Content
    offsets: Int64
    ends: Int64
    sources: Int64
    """First stream byte of each cut."""
    ranks: Int64
    reach: Int64
    """The largest end so far."""
    writers: Mapping[int, int]
    """By whom the files of some ranks are stamped, where not by the rank itself."""

    def fill(self, out: Bytes, start: int) -> None:
        """Write the expected bytes from offset `start` on over `out`; bytes that nobody writes stay as they are."""
        stop = start + out.size
        few = slice(np.searchsorted(self.reach, start, side="right"), np.searchsorted(self.offsets, stop))
        begins = np.maximum(self.offsets[few], start)
        lengths = np.minimum(self.ends[few], stop) - begins
        sources = self.sources[few] + begins - self.offsets[few]
        ranks = self.ranks[few]
        if self.content.any_writer:
            ranks = np.zeros_like(ranks)
        for rank in np.unique(ranks).tolist():
            mine = np.flatnonzero((ranks == rank) & (lengths > 0))
            stream = self.content.stream(self.writer(rank))
            stream.fill_pieces(out, begins[mine] - start, lengths[mine], sources[mine])

    def writer(self, rank: int) -> int:
        """By whom the bytes of a rank are stamped."""
        return self.writers.get(rank, rank)

    def find(self, offset: int) -> int | None:
        """The first cut that holds the byte at `offset`; None where nobody writes it."""
        stop = int(np.searchsorted(self.offsets, offset, side="right"))
        start = int(np.searchsorted(self.reach, offset, side="right"))
        holds = np.flatnonzero(self.ends[start:stop] > offset)
        return start + int(holds[0]) if holds.size else None


def expect(
    plans: Sequence[Plan],
    content: Content,
    start: int,
    stop: int,
    *,
    ranks: Iterable[int] | None = None,
    writers: Mapping[int, int] | None = None,
) -> Expected:
    """What the plans leave in [start, stop) of a file that the given ranks, or all of them, write."""
    parts: list[tuple[Int64, Int64, Int64, Int64]] = []
    for plan in plans:
        for rank in range(plan.n) if ranks is None else ranks:
            cuts = cut(plan.ranks[rank], content, plan.pattern.mem)
            ends = cuts.offsets + cuts.lengths
            inside = np.flatnonzero((cuts.offsets < stop) & (ends > start))
            parts.append((cuts.offsets[inside], ends[inside], cuts.sources[inside], np.full(inside.size, rank)))
    offsets, ends, sources, owners = (np.concatenate(column) for column in zip(_NONE, *parts, strict=True))
    order = np.argsort(offsets, kind="stable")
    offsets, ends = offsets[order], ends[order]
    reach = np.maximum.accumulate(ends)
    return Expected(content, offsets, ends, sources[order], owners[order], reach, writers or {})


_NONE = (np.empty(0, np.int64),) * 4
