"""Resonant I/O: every I/O node hears one process at a time, in ascending order (RES-11..27)."""

from __future__ import annotations

import functools
import time
from typing import ClassVar

import numpy as np

from pytest_pario.errors import StripeUnknownError
from pytest_pario.model import Extents, Int64
from pytest_pario.patterns.pieces import copy_pieces
from pytest_pario.patterns.striping import bytes_on_nodes
from pytest_pario.schemes.agents import choose_agents, choose_groups
from pytest_pario.schemes.partition import GroupMap, PartitionMap
from pytest_pario.schemes.ranges import merge_ranges
from pytest_pario.schemes.settings import StrategySettings
from pytest_pario.schemes.timed import Turn, is_ordered, timed_sets, turn_in, turn_of
from pytest_pario.strategies.exchange import TURN, Route, exchange, pass_turn, wait_for_turn
from pytest_pario.strategies.own import move_directly, start_directly
from pytest_pario.strategies.protocol import Movement, Site, gather_ranges


class Resonant:
    """Agents where the ranges of processes overlap, timed groups where they do not, or as the settings say."""

    name: ClassVar[str] = "resonant"

    def __init__(self, settings: StrategySettings) -> None:
        """The striping has to be known; it is never guessed (RES-02)."""
        if settings.unit is None or settings.nodes is None:
            raise StripeUnknownError("resonant I/O needs the striping: give unit and nodes")
        self._settings, self._unit, self._nodes = settings, settings.unit, settings.nodes
        self.chosen: str = ""
        """What the last call was carried out by: agents or timed."""

    def carry_out(self, site: Site, moved: Movement) -> None:
        """One collective call; what ranks tell each other is all that the plan depends on (RES-11)."""
        extents = Extents(moved.offsets, moved.lengths, np.array([0, moved.offsets.size]))
        shares = bytes_on_nodes(extents, self._unit, self._nodes)
        told = gather_ranges(site.comm, moved, shares)
        asking = told[told[:, 1] > told[:, 0]]
        if not len(asking):
            return
        ordered = is_ordered(told[:, 0].tolist(), told[:, 1].tolist())
        scheme = self._settings.scheme
        self.chosen = ("timed" if ordered else "agents") if scheme == "auto" else scheme
        if self.chosen == "timed":
            self._take_turns(site, moved, _turn(site.comm.rank, (told[:, 2:] > 0).tobytes(), self._nodes))
            return
        first, end = int(asking[:, 0].min()), int(asking[:, 1].max())
        if self._settings.per_node > 1:
            route = self._shared_route(choose_groups(told[:, 2:], self._settings.per_node), first, end, site.comm.rank)
        else:
            route = self._route(choose_agents(told[:, 2:]), first, end)
        if moved.writes or self._settings.second == "exchange":
            # data go from owners to agents first, then agents write (RES-19)
            exchange(site, moved, route)
        else:
            self._read_twice(site, moved, route)

    def _route(self, agents: tuple[int | None, ...], first: int, end: int) -> Route:
        # a node without an agent has no block in this call
        servers = tuple(0 if agent is None else agent for agent in agents)
        roles = max(servers.count(server) for server in servers)
        per_round = max(1, self._settings.buffer // (self._unit * roles))
        return Route(PartitionMap(self._unit, servers), first, end, per_round)

    def _shared_route(self, groups: tuple[tuple[int, ...], ...], first: int, end: int, rank: int) -> Route:
        """Several agents for each node; nodes without any have no block in this call."""
        width = max(map(len, groups))
        filled = tuple(group or (0,) * width for group in groups)
        first_turn = first // self._unit // self._nodes
        turns = (end - 1) // self._unit // self._nodes - first_turn + 1
        servers = tuple(group[0] for group in filled)
        shared = GroupMap(self._unit, servers, groups=filled, first_turn=first_turn, turns=turns)
        per_round = max(1, self._settings.buffer // (self._unit * self._nodes))
        return Route(shared, first, end, per_round, turn=turn_in(rank, groups))

    def _read_twice(self, site: Site, moved: Movement, route: Route) -> None:
        """Agents ask for all that is wanted of their nodes; then everybody reads what it did not ask for (RES-18)."""
        comm = site.comm
        pieces = route.map.cut(moved.offsets, moved.lengths)
        own = route.map.server_of(pieces.blocks) == comm.rank
        places = moved.places[pieces.owners] + pieces.offsets - moved.offsets[pieces.owners]
        wanted = self._told_to_agents(site, route, pieces.offsets, pieces.lengths, pieces.blocks)
        fetch = Movement(*wanted, site.room("agent", int(wanted[2].sum())), writes=False)
        wait_for_turn(comm, route.turn)
        first = start_directly(site, fetch, self._unit)
        pass_turn(comm, route.turn)
        # synchronise after the requests were sent, not after the data came
        comm.Barrier()
        rest = Movement(pieces.offsets[~own], places[~own], pieces.lengths[~own], moved.memory, writes=False)
        move_directly(site, rest, self._unit)
        first.complete()
        _hand_over(fetch, Movement(pieces.offsets[own], places[own], pieces.lengths[own], moved.memory, writes=False))

    def _told_to_agents(
        self, site: Site, route: Route, offsets: Int64, lengths: Int64, blocks: Int64
    ) -> tuple[Int64, Int64, Int64]:
        """What this rank asks for as an agent: offsets, places in its buffer and lengths, ascending and merged."""
        comm = site.comm
        agent = route.map.server_of(blocks)
        order = np.argsort(agent, kind="stable")
        counts = np.bincount(agent, minlength=comm.size).astype(np.int64)
        sizes = np.empty_like(counts)
        comm.Alltoall(counts, sizes)
        sent = np.stack((offsets[order], lengths[order]), axis=1).ravel()
        received = np.empty(2 * int(sizes.sum()), dtype=np.int64)
        comm.Alltoallv([sent, counts * 2], [received, sizes * 2])
        begins, spans = merge_ranges(received[0::2], received[1::2], self._unit)
        return begins, np.cumsum(spans) - spans, spans

    def _take_turns(self, site: Site, moved: Movement, turn: Turn) -> None:
        """Wait for the group before, ask for the own bytes, pause, and let the next group go (RES-20, RES-22)."""
        comm, nothing = site.comm, np.empty(0, dtype=np.uint8)
        wait_for_turn(comm, turn)
        if not turn.after:
            # nobody waits for the requests to be on their way
            move_directly(site, moved, self._unit)
            return
        under_way = start_directly(site, moved, self._unit)
        time.sleep(self._settings.delay_s)
        for rank in turn.after:
            comm.Ssend(nothing, rank, TURN)
        under_way.complete()


@functools.lru_cache(maxsize=64)
def _turn(rank: int, uses: bytes, nodes: int) -> Turn:
    """The turn of a rank; calls that use the same nodes in the same way have the same, however many there are."""
    return turn_of(rank, timed_sets(np.frombuffer(uses, dtype=bool).reshape(-1, nodes).astype(np.int64)))


def _hand_over(fetched: Movement, wanted: Movement) -> None:
    """Copy an agent's own bytes out of what it fetched for all."""
    if not wanted.offsets.size:
        return
    run = np.searchsorted(fetched.offsets, wanted.offsets, side="right") - 1
    at = fetched.places[run] + wanted.offsets - fetched.offsets[run]
    copy_pieces(wanted.memory, wanted.places, wanted.lengths, fetched.memory, at)
