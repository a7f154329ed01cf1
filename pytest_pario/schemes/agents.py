"""Resonant I/O with agents: one process speaks to each I/O node, the one that needs most of it (RES-11..19, RES-27)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pytest_pario.errors import ParameterError
from pytest_pario.model import Extents, Int64
from pytest_pario.patterns.striping import bytes_on_nodes, locate
from pytest_pario.schemes.ranges import merge_ranges, union_of

LIST_LIMIT = 64
"""Segments that one list request holds (RES-17)."""


def share_table(requests: Sequence[Extents], unit: int, nodes: int) -> Int64:
    """Bytes of node k that process r asks for, shape (processes, nodes)."""
    return np.array([bytes_on_nodes(request, unit, nodes) for request in requests]).reshape(len(requests), nodes)


def choose_agents(shares: Int64) -> tuple[int | None, ...]:
    """The agent of each node, None where nobody needs it: the largest share among those with a role to spare.

    Every process takes one role; where processes are fewer than active nodes, ceil(active / processes) roles.
    """
    processes, nodes = shares.shape
    active = np.flatnonzero(shares.sum(axis=0))
    most = max(1, -(-active.size // processes))
    roles = np.zeros(processes, dtype=np.int64)
    agents: list[int | None] = [None] * nodes
    for node in active.tolist():
        # argmax takes the first, that is the lowest rank, of equal shares
        agent = int(np.argmax(np.where(roles < most, shares[:, node], -1)))
        agents[node] = agent
        roles[agent] += 1
    return tuple(agents)


def choose_groups(shares: Int64, per_node: int) -> tuple[tuple[int, ...], ...]:
    """Several agents for each node, empty where nobody needs it: the largest shares, in order of rank (RES-23).

    The agents of a node have one part of it each and go one after the other. As all groups ascend, a rank waits for
    lower ones only, and nobody waits in a circle.
    """
    if per_node < 1:
        raise ParameterError("per_node", per_node, "1 or more")
    processes, nodes = shares.shape
    active = np.flatnonzero(shares.sum(axis=0))
    width = min(per_node, processes)
    most = max(1, -(-active.size * width // processes))
    roles = np.zeros(processes, dtype=np.int64)
    groups: list[tuple[int, ...]] = [()] * nodes
    for node in active.tolist():
        # those with roles to spare first, then by share, then by rank
        order = np.lexsort((np.arange(processes), -shares[:, node], roles >= most))
        chosen = np.sort(order[:width])
        roles[chosen] += 1
        groups[node] = tuple(chosen.tolist())
    return tuple(groups)


@dataclass(frozen=True, eq=False)
class AgentPlan:
    """Who reads or writes what in the two phases of a collective call."""

    unit: int
    agents: tuple[int | None, ...]
    """Of each node."""
    segments: tuple[tuple[Int64, Int64], ...]
    """Of each node, the requested ranges that it holds, ascending; its agent asks for them in this order."""
    second_bytes: tuple[int, ...]
    """Bytes of each process that an agent other than itself has: what the second phase moves."""

    def lists(self, node: int, limit: int = LIST_LIMIT) -> list[tuple[Int64, Int64]]:
        """The segments of a node in list requests of at most `limit`."""
        offsets, lengths = self.segments[node]
        return [(offsets[at : at + limit], lengths[at : at + limit]) for at in range(0, offsets.size, limit)]


def plan_agents(requests: Sequence[Extents], unit: int, nodes: int, merge: bool = True) -> AgentPlan:
    """Assign the bytes of each node to its agent; `merge` joins what is adjacent in the file and on one node."""
    if not requests:
        raise ParameterError("requests", 0, "those of one process or more")
    shares = share_table(requests, unit, nodes)
    agents = choose_agents(shares)
    offsets, lengths = _unmerged(requests, unit) if not merge else union_of(requests, unit)
    node, _ = locate(offsets, unit, nodes)
    segments = tuple((offsets[node == k], lengths[node == k]) for k in range(nodes))
    own = [
        sum(int(shares[rank, k]) for k, agent in enumerate(agents) if agent == rank) for rank in range(len(requests))
    ]
    second = tuple(int(total) - mine for total, mine in zip(shares.sum(axis=1), own, strict=True))
    return AgentPlan(unit, agents, segments, second)


def _unmerged(requests: Sequence[Extents], unit: int) -> tuple[Int64, Int64]:
    """Every piece that a process asks for, cut at units, ascending; equal bytes once."""
    parts = [merge_ranges(request.offsets, request.lengths, unit) for request in requests]
    offsets = np.concatenate([part[0] for part in parts])
    ends = offsets + np.concatenate([part[1] for part in parts])
    # where requests overlap, a new piece begins at every border of an old one
    borders = np.unique(np.concatenate((offsets, ends)))
    covered, lengths = union_of(requests, unit)
    if not covered.size:
        return covered, lengths
    inside = np.searchsorted(covered, borders, side="right") - 1
    begins = borders[(inside >= 0) & (borders < covered[inside] + lengths[inside])]
    stops = np.concatenate((borders, [np.iinfo(np.int64).max]))
    following = stops[np.searchsorted(borders, begins, side="right")]
    home = np.searchsorted(covered, begins, side="right") - 1
    return begins, np.minimum(following, covered[home] + lengths[home]) - begins
