"""The data that a rank writes, ready before the clock starts (GEN-03)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_pario.errors import ParameterError
from pytest_pario.model import Extents, Int64, Memory
from pytest_pario.patterns.memory import spans
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.stamp import LINE, PERIOD, Content, cut, fill, fill_pieces, ring_positions

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
    """The data of all calls from a ring of one period and the longest call: small, and bytes are used again."""
    sizes = spans(memory, table.call_bytes)
    return Payload(make_ring(content, writer, int(sizes.max(initial=0))), ring_positions(table), sizes)


def make_ring(content: Content, writer: int, longest: int) -> Bytes:
    """A ring from which calls of up to `longest` bytes of memory take their data at `ring_positions`."""
    if content.by != "call":
        raise ParameterError("by", content.by, "call: only then does a call's data lie in one piece of a ring")
    ring = allocate(PERIOD + longest)
    fill(ring, 0, content.tile(writer))
    return ring


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
    fill_pieces(room.data, room.positions[cuts.calls] + cuts.places, cuts.lengths, cuts.sources, content.tile(writer))
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
