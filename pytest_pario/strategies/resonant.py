"""Resonant I/O: every I/O node hears one process at a time, in ascending order (RES-11..27)."""

from __future__ import annotations

import functools
import time
from typing import ClassVar

import numpy as np

from pytest_pario.errors import StripeUnknownError
from pytest_pario.model import Extents, Int64
from pytest_pario.patterns.striping import bytes_on_nodes
from pytest_pario.schemes.agents import LIST_LIMIT, choose_agents, choose_groups
from pytest_pario.schemes.partition import GroupMap, PartitionMap
from pytest_pario.schemes.settings import StrategySettings
from pytest_pario.schemes.timed import Order, Turn, is_ordered, shares_within_groups, timed_sets, turn_by, turn_in
from pytest_pario.strategies.exchange import TURN, exchange, wait_for_turn
from pytest_pario.strategies.own import Joining, move_directly, start_directly, windows
from pytest_pario.strategies.parcels import attempt
from pytest_pario.strategies.protocol import Movement, Site, gather_ranges
from pytest_pario.strategies.routes import AT_ONCE, Route
from pytest_pario.strategies.second_phase import read_twice


class Resonant:
    """Agents where the ranges of processes overlap, timed turns where they do not, or as the settings say."""

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
        told = gather_ranges(site.comm, moved, self._facts(site, moved))
        asking = told[told[:, 1] > told[:, 0]]
        if not len(asking):
            return
        ordered = is_ordered(told[:, 0].tolist(), told[:, 1].tolist())
        scheme = self._settings.scheme
        self.chosen = ("timed" if ordered else "agents") if scheme == "auto" else scheme
        shares = told[:, 3:]
        if self.chosen == "timed":
            scattered = moved.writes and bool(told[:, 2].any())
            self._take_turns(site, moved, shares, ordered=ordered, scattered=scattered)
            return
        first, end = int(asking[:, 0].min()), int(asking[:, 1].max())
        if self._settings.per_node > 1:
            route = self._shared_route(choose_groups(shares, self._settings.per_node), first, end, site.comm.rank)
        else:
            route = self._route(choose_agents(shares), first, end)
        if moved.writes or self._settings.second == "exchange":
            # data go from owners to agents first, then agents write (RES-19)
            exchange(site, moved, route)
        else:
            read_twice(site, moved, route)

    def _facts(self, site: Site, moved: Movement) -> Int64:
        """What the others have to know: whether the pieces are more than a list takes, and the bytes on each node."""
        extents = Extents(moved.offsets, moved.lengths, np.array([0, moved.offsets.size]))
        shares = attempt(site, lambda: bytes_on_nodes(extents, self._unit, self._nodes))
        if shares is None:
            shares = np.zeros(self._nodes, dtype=np.int64)
        return np.concatenate(([moved.offsets.size > LIST_LIMIT], shares))

    def _route(self, agents: tuple[int | None, ...], first: int, end: int) -> Route:
        # a node without an agent has no block in this call
        servers = tuple(0 if agent is None else agent for agent in agents)
        roles = max(servers.count(server) for server in servers)
        return self._joined(PartitionMap(self._unit, servers), first, end, self._unit * roles)

    def _shared_route(self, groups: tuple[tuple[int, ...], ...], first: int, end: int, rank: int) -> Route:
        """Several agents for each node; nodes without any have no block in this call."""
        width = max(map(len, groups))
        filled = tuple(group or (0,) * width for group in groups)
        first_turn = first // self._unit // self._nodes
        turns = (end - 1) // self._unit // self._nodes - first_turn + 1
        servers = tuple(group[0] for group in filled)
        shared = GroupMap(self._unit, servers, groups=filled, first_turn=first_turn, turns=turns)
        return self._joined(shared, first, end, self._unit * self._nodes, turn_in(rank, groups))

    def _joined(self, bound: PartitionMap, first: int, end: int, each: int, turn: Turn = AT_ONCE) -> Route:
        merge = self._settings.merge
        per_round = max(1, self._settings.buffer_bytes // each)
        return Route(bound, first, end, per_round, None if merge else 0, merge, LIST_LIMIT, turn=turn)

    def _take_turns(self, site: Site, moved: Movement, shares: Int64, *, ordered: bool, scattered: bool) -> None:
        """Wait for those before, ask for the own bytes, pause, and let the next go on (RES-20, RES-22).

        Scattered writes between those of others would be a call for each piece: there a rank has its nodes to itself
        until it is done, so that it may write holes back.
        """
        serial = scattered and not ordered
        fixed: Order | None = "ranks" if serial else "groups" if self._settings.scheme == "timed" else None
        turn = _turn(site.comm.rank, (shares > 0).tobytes(), self._nodes, fixed)
        joining = Joining(self._unit, ordered or serial, self._settings.merge, LIST_LIMIT)
        wait_for_turn(site.comm, turn)
        if serial or not turn.after:
            # nobody waits for the requests to be on their way
            move_directly(site, moved, joining, self._settings.buffer_bytes)
            self._let_next(site, turn)
            return
        # what the buffer cannot hold is over before the last part is asked for
        *early, last = attempt(site, lambda: list(windows(moved, self._settings.buffer_bytes))) or [moved]
        for part in early:
            move_directly(site, part, joining, self._settings.buffer_bytes)
        under_way = start_directly(site, last, joining)
        time.sleep(self._settings.delay_s)
        self._let_next(site, turn)
        if under_way is not None:
            under_way.complete()

    @staticmethod
    def _let_next(site: Site, turn: Turn) -> None:
        for rank in turn.after:
            site.comm.Ssend(np.empty(0, dtype=np.uint8), rank, TURN)


@functools.lru_cache(maxsize=64)
def _turn(rank: int, uses: bytes, nodes: int, fixed: Order | None) -> Turn:
    """The turn of a rank; calls that use the same nodes in the same way have the same, however many there are.

    Unless the order is fixed, processes of a group that share a node go one after the other there (RES-28).
    """
    table = np.frombuffer(uses, dtype=bool).reshape(-1, nodes).astype(np.int64)
    order: Order = "nodes" if shares_within_groups(timed_sets(table), table) else "groups"
    return turn_by(fixed or order, rank, table)
