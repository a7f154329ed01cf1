"""Where every byte of a call goes, and the rounds in which agents serve it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_pario.model import Int64
from pytest_pario.schemes.partition import PartitionMap
from pytest_pario.schemes.timed import Turn
from pytest_pario.strategies.runs import RUNS_AT_ONCE

AT_ONCE = Turn()
"""The turn of an agent that has its nodes to itself."""
FEW_ROUNDS = 64
"""So many rounds cost less than to agree on which of them have bytes."""


@dataclass(frozen=True)
class Guide:
    """How far an agent reads ahead (GPFS-42)."""

    max_pre: int
    max_acc: int


@dataclass(frozen=True)
class Route:
    """Where every byte of a call goes, the same on all ranks."""

    map: PartitionMap
    first: int
    """First byte that any rank moves."""
    end: int
    """One past the last."""
    blocks_per_round: int = 1
    """Blocks that an agent serves at once."""
    gap: int | None = None
    """Longest hole inside a block that an agent moves along; None lets the lengths of its pieces say."""
    join: bool = True
    """Whether pieces that touch are one run."""
    most_runs: int = RUNS_AT_ONCE
    """Runs that an agent asks for in one list."""
    guide: Guide | None = None
    """How an agent reads ahead; None reads range after range."""
    turn: Turn = AT_ONCE
    """Whom this rank, as an agent, waits for before it touches the file."""

    @property
    def first_turn(self) -> int:
        """The lowest turn of a block of this call."""
        width = self.map.run * len(self.map.servers)
        return (self.first - self.map.base) // self.map.unit // width * self.map.run

    @property
    def rounds(self) -> int:
        """How many rounds there are from the first byte to the last."""
        width = self.map.run * len(self.map.servers)
        last = (self.end - 1 - self.map.base) // self.map.unit // width * self.map.run + self.map.run - 1
        return (last - self.first_turn) // self.blocks_per_round + 1

    def round_of(self, blocks: Int64) -> Int64:
        """The round in which each block is served."""
        return (self.map.turn_of(blocks) - self.first_turn) // self.blocks_per_round

    def blocks_of(self, offsets: Int64) -> Int64:
        """The block of each offset."""
        return (offsets - self.map.base) // self.map.unit


@dataclass(frozen=True, eq=False)
class Rounds:
    """The rounds that ranks go through, the same on all of them."""

    route: Route
    numbers: Int64
    """Ascending."""

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.numbers.size)

    def index_of(self, blocks: Int64) -> Int64:
        """Which of the rounds serves each block."""
        found = self.route.round_of(blocks)
        # where all rounds are gone through a round has its own number
        return found if self.count == self.route.rounds else np.searchsorted(self.numbers, found)
