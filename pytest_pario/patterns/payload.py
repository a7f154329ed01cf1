"""The data that a rank writes, ready before the clock starts (GEN-03)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_pario.model import Extents, Int64, Memory
from pytest_pario.patterns.memory import spans
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.stamp import LINE, PERIOD, Content, cut, ring_positions

PAGE = 4096


@dataclass(frozen=True, eq=False)
class Payload:
    """A buffer, and where in it each call's data begin."""

    data: Bytes
    positions: Int64
    """Shape (calls,), each a multiple of a cache line."""
    sizes: Int64
    """Bytes of memory of each call, gaps included; shape (calls,)."""

    def call(self, number: int) -> Bytes:
        """The memory of one call, without a copy."""
        begin = int(self.positions[number])
        return self.data[begin : begin + int(self.sizes[number])]


def ring_payload(content: Content, writer: int, table: Extents, memory: Memory = Memory()) -> Payload:  # noqa: B008
    """The data of all calls from a ring that is no longer than one period and the longest call (GEN-03).

    It holds what lies between the first and the last byte that calls take from it. Where the file is longer than a
    period bytes are used again. Content by offset does not lie in one piece of a ring: it is laid out whole.
    """
    if content.by != "call":
        return whole_payload(content, writer, table, memory)
    sizes, positions = spans(memory, table.call_bytes), ring_positions(table, memory)
    used = sizes > 0
    begin = int(positions.min(initial=PERIOD, where=used)) // PAGE * PAGE
    ring = allocate(max(0, int((positions + sizes).max(initial=0, where=used)) - begin))
    content.stream(writer).fill(ring, begin)
    return Payload(ring, np.where(used, positions - begin, 0), sizes)


def whole_payload(
    content: Content,
    writer: int,
    table: Extents,
    memory: Memory = Memory(),  # noqa: B008
    line: int = LINE,
) -> Payload:
    """The data of all calls side by side, so that no byte of the buffer is used twice (CONS-41)."""
    room = make_room(table, memory, line)
    cuts = cut(table, content, memory)
    at = room.positions[cuts.calls] + cuts.places
    content.stream(writer).fill_pieces(room.data, at, cuts.lengths, cuts.sources)
    return room


def make_room(table: Extents, memory: Memory = Memory(), line: int = LINE) -> Payload:  # noqa: B008
    """Room for the data of all calls side by side, each beginning at a multiple of `line` in memory."""
    sizes = spans(memory, table.call_bytes)
    rooms = -(-sizes // line) * line
    return Payload(allocate(int(rooms.sum())), np.cumsum(rooms) - rooms, sizes)


def allocate(size: int) -> Bytes:
    """A page-aligned buffer."""
    raw = np.empty(size + PAGE, dtype=np.uint8)
    begin = -raw.ctypes.data % PAGE
    return raw[begin : begin + size]
