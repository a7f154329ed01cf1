"""Maps from file blocks to those who serve them (GPFS-40): the common ground of all schemes with agents.

data shipping   one block after the other in turn:   PartitionMap(stripe, agents)
two-phase       one contiguous domain each:          PartitionMap(buffer, agents, run=blocks of a domain)
resonant        the agents of the I/O nodes in turn: PartitionMap(striping unit, agent of each node)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pytest_pario.errors import ParameterError
from pytest_pario.model import Int64
from pytest_pario.patterns.pieces import split


@dataclass(frozen=True, eq=False)
class Pieces:
    """Ranges cut at the borders of blocks, in the order of the ranges; shape (pieces,) each."""

    owners: Int64
    """Which of the given ranges a piece is of."""
    offsets: Int64
    lengths: Int64
    blocks: Int64
    """Number of the block that a piece lies in."""


@dataclass(frozen=True)
class PartitionMap:
    """Block b is served by servers[(b // run) % len(servers)]."""

    unit: int
    """Bytes of a block."""
    servers: tuple[int, ...]
    """Who serves each partition; a server may be named more than once."""
    run: int = 1
    """Blocks of a partition."""
    base: int = 0
    """Offset at which block 0 begins; nothing before it is mapped."""

    def __post_init__(self) -> None:
        for name, value, least in (("unit", self.unit, 1), ("run", self.run, 1), ("base", self.base, 0)):
            if value < least:
                raise ParameterError(f"partition.{name}", value, f"{least} or more")
        if not self.servers or min(self.servers) < 0:
            raise ParameterError("partition.servers", self.servers, "one or more numbers of servers")

    def server_of(self, blocks: Int64) -> Int64:
        """Who serves each block; shape as given."""
        # block b -> V[floor(b / s) mod len(V)]
        return np.asarray(self.servers, dtype=np.int64)[blocks // self.run % len(self.servers)]

    def turn_of(self, blocks: Int64) -> Int64:
        """Which block of its partition's server, counted as that server goes on through the file; shape as given."""
        # floor(b / (s * len(V))) * s + b mod s
        return blocks // (self.run * len(self.servers)) * self.run + blocks % self.run

    def cut(self, offsets: Int64, lengths: Int64) -> Pieces:
        """Cut ranges at the borders of blocks."""
        owners, begins, sizes = split(offsets - self.base, lengths, self.unit)
        return Pieces(owners, begins + self.base, sizes, begins // self.unit)


@dataclass(frozen=True)
class GroupMap(PartitionMap):
    """Blocks dealt to nodes in turn, and each node's blocks to its agents in contiguous parts (RES-23)."""

    groups: tuple[tuple[int, ...], ...] = ()
    """Agents of each node, equally many; `servers` has the first of each."""
    first_turn: int = 0
    turns: int = 1
    """Blocks of a node in this call, from `first_turn` on."""

    def server_of(self, blocks: Int64) -> Int64:
        """The agent of each block's part of its node."""
        table = np.array(self.groups, dtype=np.int64)
        # part = floor((turn - first) * agents / turns)
        part = (blocks // len(self.groups) - self.first_turn) * table.shape[1] // self.turns
        return np.asarray(table[blocks % len(self.groups), part], dtype=np.int64)


def default_map(unit: int, nodes: int) -> PartitionMap:
    """Block i is served by node i mod n."""
    if nodes < 1:
        raise ParameterError("partition.nodes", nodes, "1 or more")
    return PartitionMap(unit, tuple(range(nodes)))


def contiguous_domains(first: int, end: int, agents: Sequence[int], buffer_bytes: int, align: int = 1) -> PartitionMap:
    """One contiguous file domain for each agent, in blocks of at most `buffer_bytes`, borders at multiples of `align`.

    An agent goes through its domain block by block, so that a block is what it has in memory at once.
    """
    if buffer_bytes < 1 or align < 1:
        raise ParameterError("domains", (buffer_bytes, align), "a buffer and an alignment of 1 byte or more")
    base = first // align * align
    span = max(end - base, 1)
    # a domain has ceil(span / agents) bytes, rounded up to the alignment
    domain = _up(-(-span // len(agents)), align)
    unit = min(domain, _up(buffer_bytes, align))
    return PartitionMap(unit, tuple(agents), run=-(-domain // unit), base=base)


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
