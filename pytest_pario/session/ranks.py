"""Ranks as the hub knows them, and in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

TOLD_RANKS = 8
"""Ranks that are named with host and pid, at most."""


def name_ranks(ranks: Iterable[int]) -> str:
    """`rank 2`, or `ranks 0,1,3`, or `ranks 0-15` for three and more in a row."""
    ordered = sorted(set(ranks))
    if len(ordered) == 1:
        return f"rank {ordered[0]}"
    runs: list[list[int]] = []
    for rank in ordered:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return "ranks " + ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)


@dataclass(frozen=True)
class Peer:
    """A rank as it introduced itself."""

    rank: int
    host: str
    pid: int
    local: bool
    """Runs on the hub's host, so that it can be killed by pid."""

    def __str__(self) -> str:
        """How the operator finds it."""
        return f"rank {self.rank} (pid {self.pid} on {self.host})"


@dataclass
class Running:
    """The test that runs now, as root announced it."""

    nodeid: str
    phase: str
    timeout_s: float
    since: float


def tell_some(introduced: list[str]) -> str:
    """The first few of many."""
    more = f" and {len(introduced) - TOLD_RANKS} more" if len(introduced) > TOLD_RANKS else ""
    return ", ".join(introduced[:TOLD_RANKS]) + more
