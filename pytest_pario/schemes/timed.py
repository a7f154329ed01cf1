"""Resonant I/O by timing: processes whose ranges do not overlap ask for their own, in order (RES-13, RES-20..24)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from pytest_pario.errors import ParameterError
from pytest_pario.model import Int64

DELAY_S = 0.5e-3
"""What a process waits after it has sent its requests before the next one may (RES-21)."""
SHORTEST_S, LONGEST_S = 0.1e-3, 1e-3


def require_delay(delay_s: float) -> float:
    """Check a delay: 0.1 to 1 ms, or 0 for none."""
    if delay_s != 0 and not SHORTEST_S <= delay_s <= LONGEST_S:
        raise ParameterError("delay_s", delay_s, f"0, or {SHORTEST_S} to {LONGEST_S}")
    return delay_s


def is_ordered(firsts: Sequence[int], ends: Sequence[int]) -> bool:
    """Whether all that process i asks for lies before all that i+1 asks for; those without a request are skipped."""
    asking = [(first, end) for first, end in zip(firsts, ends, strict=True) if end > first]
    return all(end <= following for (_, end), (following, _) in pairwise(asking))


@dataclass(frozen=True)
class TimedSet:
    """Processes that share I/O nodes, directly or through others; different sets share none."""

    ranks: tuple[int, ...]
    nodes: int
    """How many nodes the set uses."""

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The i-th process by rank is in group i // nodes; a group sends at once, the groups one after the other."""
        width = max(1, self.nodes)
        return tuple(self.ranks[at : at + width] for at in range(0, len(self.ranks), width))


def timed_sets(shares: Int64) -> tuple[TimedSet, ...]:
    """Connected components of processes and nodes, by lowest rank; `shares` has shape (processes, nodes)."""
    uses = shares > 0
    label = np.where(uses.any(axis=1), np.arange(len(shares)), -1)
    # every process takes the lowest label among those that it shares a node with, until nothing changes
    while True:
        lowest = np.where(uses, label[:, None], len(shares)).min(axis=0, initial=len(shares))
        better = np.where(uses, lowest[None, :], len(shares)).min(axis=1, initial=len(shares))
        changed = np.where(label >= 0, np.minimum(label, better), -1)
        if (changed == label).all():
            break
        label = changed
    found = []
    for first in np.unique(label[label >= 0]):
        members = np.flatnonzero(label == first)
        found.append(TimedSet(tuple(members.tolist()), int(uses[members].any(axis=0).sum())))
    return tuple(found)


@dataclass(frozen=True)
class Turn:
    """When a process may send: after all of `before`, and it tells all of `after`."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    position: int = 0
    """Number of its group in its set."""


def turn_in(rank: int, groups: Sequence[Sequence[int]]) -> Turn:
    """The place of an agent among the others of its nodes: after the one before it, before the one behind it."""
    before, after = set[int](), set[int]()
    for group in groups:
        if rank in group:
            at = list(group).index(rank)
            before |= set(group[at - 1 : at]) if at else set()
            after |= set(group[at + 1 : at + 2])
    return Turn(tuple(sorted(before)), tuple(sorted(after)))


Order = Literal["groups", "nodes", "ranks"]
"""Who waits for whom: group for group (RES-22), for the one before on each node, or for the one before in the set."""


def shares_within_groups(sets: Sequence[TimedSet], uses: Int64) -> bool:
    """Whether processes that would send at once have a node in common; `uses` has shape (processes, nodes)."""
    groups = (group for one in sets for group in one.groups)
    return any(bool(((uses[list(group)] > 0).sum(axis=0) > 1).any()) for group in groups)


def turn_by(order: Order, rank: int, uses: Int64) -> Turn:
    """The place of a process; as all wait for lower ranks only, nobody waits in a circle."""
    if order == "nodes":
        return turn_in(rank, [np.flatnonzero(column).tolist() for column in uses.T > 0])
    sets = timed_sets(uses)
    return turn_of(rank, sets) if order == "groups" else turn_in(rank, [one.ranks for one in sets])


def turn_of(rank: int, sets: Sequence[TimedSet]) -> Turn:
    """The place of a process in its set; one that asks for nothing waits for nobody."""
    for one in sets:
        groups = one.groups
        for number, group in enumerate(groups):
            if rank in group:
                before = groups[number - 1] if number else ()
                after = groups[number + 1] if number + 1 < len(groups) else ()
                return Turn(before, after, number)
    return Turn()
