"""Payload stamps: every byte a pure function of place, writer, generation and seed, and never 0 (GEN-02, GEN-03).

Each (seed, writer, generation) has a stream of pseudo-random bytes. A file holds cuts of these streams, and where a cut
begins follows from the file offset alone:

- by offset: the byte at file offset x is byte x of the stream. Ranks that write the same byte agree on it.
- by call: a call takes one piece of the stream, from that of its first byte's offset on, so that a ring which was
  filled before the clock started holds it. The piece begins on a cache line: elsewhere writes of 64 KiB and more to
  tmpfs ran a quarter slower. A ring is finite: offsets count modulo PERIOD.

No two sectors of a file are alike as long as it is shorter than PERIOD. What is not noticed in a longer one:

- by offset: data moved by a multiple of the stream's length; of whole sectors that is a multiple of 2.2 TB.
- by call: data of one rank moved by a multiple of PERIOD. It is 64 times a prime, so that whole sectors coincide at
  multiples of 8 * PERIOD = 434 MB only, pages of 4 KiB at multiples of 3.5 GB, stripes of 64 KiB of 56 GB. It is also
  far from powers of two and their small multiples: what lies there in a strided file is mostly another rank's.
- by call, where a call has several pieces whose length is no multiple of a sector: calls that come to lie on each other
  in the ring have a sector in some hundred in common, at distances that nothing else has.

The ring is read from memory as an application's data are, not from a second-level cache: writes to tmpfs take 5 to 10 %
more CPU time than from one small buffer. It is also why it is no longer than this.

Pieces of less than 64 bytes at the seam of two calls, one of which does not begin on a multiple of 64, may be alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pytest_pario.errors import ParameterError
from pytest_pario.model import Extents, Int64, Memory, Plan
from pytest_pario.patterns.memory import spans
from pytest_pario.patterns.pieces import split
from pytest_pario.patterns.protocol import Layout
from pytest_pario.patterns.stream import ANY_WRITER, Stream, make_stream

LINE = 64
SLOTS = 848_321
PERIOD = LINE * SLOTS
"""Bytes of a ring, the longest call aside."""


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

    def stream(self, writer: int) -> Stream:
        """The stream of a writer."""
        return make_stream(self.seed, ANY_WRITER if self.any_writer else writer, self.generation)


def content_of(plan: Plan, seed: int, generation: int = 0) -> Content:
    """By call; by offset where calls of a rank mix, and for any writer where ranks may write the same byte."""
    layout = plan.pattern.placed(plan.n)
    if not isinstance(layout, Layout) or not (layout.overlapping or layout.mixing):
        return Content(seed, generation)
    return Content(seed, generation, "offset", any_writer=layout.overlapping)


def ring_positions(table: Extents, memory: Memory = Memory()) -> Int64:  # noqa: B008
    """Where the data of each call begin in a ring, shape (calls,)."""
    # gaps in memory take up room in the ring, too
    starts, sizes = spans(memory, table.first_offsets), spans(memory, table.call_bytes)
    # several calls shorter than a line would begin on the same one
    lines = np.where(sizes < LINE, starts, starts // LINE)
    return lines % SLOTS * LINE


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
    sources = offsets if content.by == "offset" else ring_positions(table, memory)[calls] + places
    return Cuts(offsets, lengths, sources, calls, places)
