"""Data shipping: file blocks bound to agents in turn, who alone touch the file (GPFS-35..39)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pytest_pario.errors import DirectiveError, ParameterError
from pytest_pario.model import Extents, Int64
from pytest_pario.patterns.pieces import split
from pytest_pario.schemes.directives import Partitioning
from pytest_pario.schemes.partition import PartitionMap
from pytest_pario.schemes.ranges import NONE, merge_ranges
from pytest_pario.units import KiB

BLOCK = 256 * KiB
"""Bytes of a file block where the filesystem says nothing else."""
DEFAULT_BLOCKS = 16
"""Blocks of a stripe where no buffer size is asked for."""


def stripe_bytes(buffer_bytes: int | None = None, block: int = BLOCK) -> int:
    """Bytes that are bound to one agent at a time: the buffer size rounded up to whole blocks (GPFS-35)."""
    if block < 1:
        raise ParameterError("block", block, "1 byte or more")
    if buffer_bytes is None:
        return DEFAULT_BLOCKS * block
    if buffer_bytes < 1:
        raise ParameterError("IBM_io_buffer_size", buffer_bytes, "1 byte or more")
    return -(-buffer_bytes // block) * block


def ships(largeblock_io: str | None) -> bool:
    """Whether data shipping is on for a value of IBM_largeblock_io; it is, unless that says true (GPFS-38)."""
    if largeblock_io not in (None, "true", "false"):
        raise ParameterError("IBM_largeblock_io", largeblock_io, "true or false")
    return largeblock_io != "true"


@dataclass(frozen=True, eq=False)
class ShippingPlan:
    """What the agents do in one collective call."""

    stripe: int
    ranges: tuple[tuple[Int64, Int64], ...]
    """Of each agent, the ranges that it touches: ascending, merged, none beyond a stripe."""
    shipped_bytes: Int64
    """Bytes that rank r has at agent a, shape (ranks, agents)."""

    @property
    def between_ranks(self) -> int:
        """Bytes that travel between different ranks; agent a is rank a."""
        return int(self.shipped_bytes.sum() - np.trace(self.shipped_bytes))

    def rounds(self, agent: int) -> Iterator[tuple[Int64, Int64]]:
        """The ranges of an agent, a stripe at a time: what it holds in its buffer at once."""
        offsets, lengths = self.ranges[agent]
        stripes = offsets // self.stripe
        for stripe in np.unique(stripes):
            yield offsets[stripes == stripe], lengths[stripes == stripe]


def plan_shipping(requests: Sequence[Extents], stripe: int, agents: int) -> ShippingPlan:
    """Bind the requests of all ranks to agents (GPFS-36, GPFS-37); the first `agents` ranks are the agents."""
    if not 1 <= agents <= len(requests):
        raise ParameterError("agents", agents, f"1 to {len(requests)}, the number of ranks")
    bound = PartitionMap(stripe, tuple(range(agents)))
    shipped = np.zeros((len(requests), agents), dtype=np.int64)
    parts: list[list[tuple[Int64, Int64]]] = [[(NONE, NONE)] for _ in range(agents)]
    for rank, request in enumerate(requests):
        _, begins, lengths = split(request.offsets, request.lengths, stripe)
        agent = bound.server_of(begins // stripe)
        np.add.at(shipped[rank], agent, lengths)
        for number in np.unique(agent):
            mine = agent == number
            parts[number].append((begins[mine], lengths[mine]))
    ranges = tuple(
        merge_ranges(np.concatenate([one[0] for one in part]), np.concatenate([one[1] for one in part]), stripe)
        for part in parts
    )
    return ShippingPlan(stripe, ranges, shipped)


@dataclass
class ShippingMode:
    """The stripe of an open file, which may be changed while no operation is pending (GPFS-39).

    A file that is partitioned is partitioned anew when that happens (GPFS-41).
    """

    block: int = BLOCK
    stripe: int = 0
    pending: int = 0
    """Operations that have begun and not ended."""
    changes: list[int] = field(default_factory=list)
    """Every stripe that was set, in order."""
    partitioning: Partitioning | None = None
    """Of the same file, where it has directives."""

    def __post_init__(self) -> None:
        self.resize(self.stripe or None)

    def resize(self, buffer_bytes: int | None) -> int:
        """Set the stripe for a buffer size, by set_info or set_view; an error while an operation is pending."""
        if self.pending:
            raise DirectiveError(f"IBM_io_buffer_size cannot change while {self.pending} operations are pending")
        stripe = stripe_bytes(buffer_bytes, self.block)
        if self.partitioning is not None and stripe != self.partitioning.unit:
            self.partitioning.resize(stripe)
        self.stripe = stripe
        self.changes.append(self.stripe)
        return self.stripe

    def begin(self) -> None:
        """An operation begins."""
        self.pending += 1

    def end(self) -> None:
        """An operation has ended."""
        if not self.pending:
            raise DirectiveError("an operation ended that had not begun")
        self.pending -= 1
