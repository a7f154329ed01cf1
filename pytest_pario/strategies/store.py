"""An emulated striped store: M files as I/O nodes, each with a log of what arrived in which order (RES-28).

It runs on any machine and measures what a disk would feel, not how long it takes: the log of a node is one file that
all ranks append to, so that its order is the order of arrival.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from pytest_pario.errors import ParameterError
from pytest_pario.model import Int64
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.striping import locate
from pytest_pario.strategies.runs import Runs

_RECORD = struct.Struct("<qqq")
"""Rank, local offset, bytes: written in one piece, which O_APPEND keeps whole."""
_AT_ONCE = 1024
"""Pieces that one pwritev takes (IOV_MAX)."""


@dataclass(frozen=True)
class Shape:
    """Where a store lies and how it is striped."""

    directory: Path
    unit: int
    nodes: int
    size: int
    """Bytes of the file that is striped over the nodes."""

    def __post_init__(self) -> None:
        for name in ("unit", "nodes", "size"):
            if getattr(self, name) < 1:
                raise ParameterError(f"store.{name}", getattr(self, name), "1 or more")

    def data_of(self, node: int) -> Path:
        """The file that stands for a node."""
        return self.directory / f"node{node}.data"

    def log_of(self, node: int) -> Path:
        """The log of a node."""
        return self.directory / f"node{node}.log"

    def create(self) -> None:
        """Make empty nodes; by one rank, before the others open them."""
        rows = -(-self.size // (self.unit * self.nodes))
        for node in range(self.nodes):
            with self.data_of(node).open("wb") as file:
                file.truncate(rows * self.unit)
            self.log_of(node).write_bytes(b"")

    def clear_logs(self) -> None:
        """Forget what arrived so far."""
        for node in range(self.nodes):
            os.truncate(self.log_of(node), 0)

    def remove(self) -> None:
        """Remove everything."""
        for node in range(self.nodes):
            self.data_of(node).unlink(missing_ok=True)
            self.log_of(node).unlink(missing_ok=True)

    def image(self) -> Bytes:
        """The bytes of the file as its users see them."""
        rows = -(-self.size // (self.unit * self.nodes))
        columns = [np.fromfile(self.data_of(node), dtype=np.uint8) for node in range(self.nodes)]
        return np.stack([one.reshape(rows, self.unit) for one in columns], axis=1).reshape(-1)[: self.size]

    def arrivals(self, node: int) -> Int64:
        """What arrived at a node, in order: rank, local offset, bytes; shape (arrivals, 3)."""
        return np.fromfile(self.log_of(node), dtype="<i8").astype(np.int64).reshape(-1, 3)


class StripedStore:
    """One rank's way to the nodes; it is a `File` for strategies."""

    def __init__(self, shape: Shape, rank: int) -> None:
        """Open every node."""
        self._shape, self._rank = shape, rank
        self._data = [os.open(shape.data_of(node), os.O_RDWR) for node in range(shape.nodes)]
        self._logs = [os.open(shape.log_of(node), os.O_WRONLY | os.O_APPEND) for node in range(shape.nodes)]

    def close(self) -> None:
        """Close every node."""
        for descriptor in (*self._data, *self._logs):
            os.close(descriptor)

    def write_at(self, offset: int, data: Bytes) -> int:
        """At most one request to each node."""
        return self._each_node(offset, data, writes=True)

    def read_at(self, offset: int, out: Bytes) -> int:
        """At most one request to each node."""
        return self._each_node(offset, out, writes=False)

    def start_write(self, offset: int, data: Bytes) -> Done:
        """Write at once: what counts is that the request has arrived."""
        return Done(self.write_at(offset, data))

    def start_read(self, offset: int, out: Bytes) -> Done:
        """Read at once."""
        return Done(self.read_at(offset, out))

    def start_list(self, _runs: Runs, _data: Bytes, *, writes: bool) -> None:
        """No list: a node's log has every range by itself."""

    def settle(self) -> None:
        """Nothing is kept."""

    def _each_node(self, offset: int, data: Bytes, writes: bool) -> int:
        if offset + data.size > self._shape.size:
            raise ParameterError("offset", offset + data.size, f"within the {self._shape.size} B of the store")
        unit, moved = self._shape.unit, 0
        # borders of units inside the range, and the pieces between them
        cuts = [0, *range(unit - offset % unit, data.size, unit), data.size]
        spans = [(low, high) for low, high in pairwise(cuts) if high > low]
        pieces = [data[low:high] for low, high in spans]
        starts = np.array([offset + low for low, _ in spans], dtype=np.int64)
        nodes, local = locate(starts, unit, self._shape.nodes)
        for node in dict.fromkeys(nodes.tolist()):
            mine = np.flatnonzero(nodes == node)
            moved += self._request(node, int(local[mine[0]]), [pieces[k].data for k in mine.tolist()], writes)
        return moved

    def _request(self, node: int, local: int, pieces: list[memoryview], writes: bool) -> int:
        """The pieces of a range on one node are adjacent there."""
        total = sum(len(piece) for piece in pieces)
        os.write(self._logs[node], _RECORD.pack(self._rank, local, total))
        move, done = os.pwritev if writes else os.preadv, 0
        for first in range(0, len(pieces), _AT_ONCE):
            done += move(self._data[node], pieces[first : first + _AT_ONCE], local + done)
        return done


@dataclass(frozen=True)
class Done:
    """A transfer that has ended before it was waited for."""

    moved_bytes: int

    def wait(self) -> int:
        """Bytes that were moved."""
        return self.moved_bytes


def count_seeks(arrivals: Int64, node_bytes: int, head: int = 0, reads: bool = False) -> tuple[int, int]:
    """Arrivals that do not begin where the last one ended, and where the head is in the end.

    With `reads`, what was asked for before in the same log comes from the node's cache and moves no head (RES-18).
    """
    seeks = 0
    cached = np.zeros(node_bytes if reads else 0, dtype=bool)
    for _, local, size in arrivals.tolist():
        if reads:
            if cached[local : local + size].all():
                continue
            cached[local : local + size] = True
        seeks += local != head
        head = local + size
    return seeks, head
