"""Bytes between ranks and agents, and agents at the file: the engine of every strategy with agents.

A map says which agent serves which block. Every rank cuts its pieces at the borders of blocks and sends each to its
agent; the agent lays what it gets side by side and touches the file in as few runs as there are (writes), or reads the
runs and sends the pieces back. An agent works in rounds, so that it never holds more than its buffer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_pario.model import Int64
from pytest_pario.patterns.pieces import Bytes, copy_pieces
from pytest_pario.schemes.partition import PartitionMap
from pytest_pario.schemes.timed import Turn
from pytest_pario.strategies.own import fill_holes, read_runs, write_runs
from pytest_pario.strategies.protocol import Movement, Site
from pytest_pario.strategies.runs import SIEVE_GAP, lay_runs

if TYPE_CHECKING:
    from mpi4py import MPI

AT_ONCE = Turn()
"""The turn of an agent that has its nodes to itself."""
LISTS, DATA, TURN = 1, 2, 3
"""Tags."""


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
    gap: int = SIEVE_GAP
    """Longest hole inside a block that an agent moves along."""
    turn: Turn = AT_ONCE
    """Whom this rank, as an agent, waits for before it touches the file."""

    @property
    def first_turn(self) -> int:
        """The lowest turn of a block of this call."""
        width = self.map.run * len(self.map.servers)
        return (self.first - self.map.base) // self.map.unit // width * self.map.run

    @property
    def rounds(self) -> int:
        """How many rounds every rank goes through."""
        width = self.map.run * len(self.map.servers)
        last = (self.end - 1 - self.map.base) // self.map.unit // width * self.map.run + self.map.run - 1
        return (last - self.first_turn) // self.blocks_per_round + 1

    def round_of(self, blocks: Int64) -> Int64:
        """The round in which each block is served."""
        return (self.map.turn_of(blocks) - self.first_turn) // self.blocks_per_round


@dataclass(frozen=True, eq=False)
class Parcel:
    """Pieces that one rank has with one agent, in the order in which their bytes travel; cut by round."""

    offsets: Int64
    lengths: Int64
    places: Int64
    """In the memory of the rank; on the agent's side, in the message of the round."""
    bounds: Int64
    """Round r has the pieces bounds[r] to bounds[r+1]-1."""

    def round(self, number: int) -> tuple[Int64, Int64, Int64]:
        """Offsets, lengths and places of one round."""
        part = slice(int(self.bounds[number]), int(self.bounds[number + 1]))
        return self.offsets[part], self.lengths[part], self.places[part]


def wait_for_turn(comm: MPI.Intracomm, turn: Turn) -> None:
    """Wait until everybody before has touched the file."""
    for rank in turn.before:
        comm.Recv(np.empty(0, dtype=np.uint8), rank, TURN)


def pass_turn(comm: MPI.Intracomm, turn: Turn) -> None:
    """Let those behind go on."""
    for rank in turn.after:
        comm.Send(np.empty(0, dtype=np.uint8), rank, TURN)


Parcels = tuple[list[Parcel], list[Parcel]]
"""What this rank has with each agent, and what each rank has with this one as an agent."""


def exchange(site: Site, moved: Movement, route: Route) -> None:
    """Carry out one collective call; no rank leaves before its own bytes are where they belong."""
    outgoing = _pack_lists(moved, route, site.comm.size)
    parcels = outgoing, _swap_lists(site.comm, outgoing, route)
    one_round = _write_round if moved.writes else _read_round
    for number in range(route.rounds):
        one_round(site, moved, route, number, parcels)


def _pack_lists(moved: Movement, route: Route, ranks: int) -> list[Parcel]:
    """This rank's pieces for each agent, by round, in file order as far as the caller's are."""
    pieces = route.map.cut(moved.offsets, moved.lengths)
    places = moved.places[pieces.owners] + pieces.offsets - moved.offsets[pieces.owners]
    rounds = route.rounds
    key = route.map.server_of(pieces.blocks) * rounds + route.round_of(pieces.blocks)
    order = np.arange(key.size) if (key[1:] >= key[:-1]).all() else np.argsort(key, kind="stable")
    offsets, lengths, places, key = pieces.offsets[order], pieces.lengths[order], places[order], key[order]
    edges = np.searchsorted(key, np.arange(ranks * rounds + 1))
    found = []
    for agent in range(ranks):
        bounds = edges[agent * rounds : (agent + 1) * rounds + 1]
        part = slice(int(bounds[0]), int(bounds[-1]))
        found.append(Parcel(offsets[part], lengths[part], places[part], bounds - bounds[0]))
    return found


def _swap_lists(comm: MPI.Intracomm, outgoing: list[Parcel], route: Route) -> list[Parcel]:
    """Tell every agent what it will get or has to deliver; what comes back is from each rank."""
    sent = np.array([parcel.offsets.size for parcel in outgoing], dtype=np.int64)
    received = np.empty_like(sent)
    comm.Alltoall(sent, received)
    requests = []
    lists: list[Int64] = []
    for rank, count in enumerate(received.tolist()):
        lists.append(np.empty((2, count), dtype=np.int64))
        if count and rank != comm.rank:
            requests.append(comm.Irecv(lists[-1], rank, LISTS))
    kept = []
    for rank, parcel in enumerate(outgoing):
        if parcel.offsets.size and rank != comm.rank:
            kept.append(np.stack((parcel.offsets, parcel.lengths)))
            requests.append(comm.Isend(kept[-1], rank, LISTS))
    _wait_all(requests)
    mine = outgoing[comm.rank]
    return [mine if rank == comm.rank else _opened(route, pair[0], pair[1]) for rank, pair in enumerate(lists)]


def _opened(route: Route, offsets: Int64, lengths: Int64) -> Parcel:
    rounds = route.round_of((offsets - route.map.base) // route.map.unit)
    bounds = np.searchsorted(rounds, np.arange(route.rounds + 1))
    ends = np.concatenate(([0], np.cumsum(lengths)))
    # a message holds one round
    return Parcel(offsets, lengths, ends[:-1] - ends[bounds[:-1]][rounds], bounds)


def _write_round(site: Site, moved: Movement, route: Route, number: int, parcels: Parcels) -> None:
    outgoing, incoming = parcels
    comm = site.comm
    requests, messages = _receive(site, incoming, number)
    for agent, parcel in enumerate(outgoing):
        _, lengths, places = parcel.round(number)
        if lengths.size and agent != comm.rank:
            message = site.room(f"out{agent}", int(lengths.sum()))
            copy_pieces(message, np.cumsum(lengths) - lengths, lengths, moved.memory, places)
            requests.append(comm.Isend(message, agent, DATA))
    offsets, lengths, _ = _all_of(incoming, number)
    runs = lay_runs(offsets, lengths, (offsets - route.map.base) // route.map.unit, route.gap)
    buffer = site.room("agent", runs.total_bytes)
    fill_holes(site, runs, buffer)
    _wait_all(requests)
    begin = 0
    for rank, parcel in enumerate(incoming):
        _, lengths, places = parcel.round(number)
        at = runs.at[begin : begin + lengths.size]
        copy_pieces(buffer, at, lengths, moved.memory if rank == comm.rank else messages[rank], places)
        begin += lengths.size
    wait_for_turn(comm, route.turn)
    write_runs(site, runs, buffer)
    pass_turn(comm, route.turn)


def _read_round(site: Site, moved: Movement, route: Route, number: int, parcels: Parcels) -> None:
    outgoing, incoming = parcels
    comm = site.comm
    requests, messages = _receive(site, outgoing, number)
    offsets, lengths, _ = _all_of(incoming, number)
    runs = lay_runs(offsets, lengths, (offsets - route.map.base) // route.map.unit, route.gap)
    buffer = site.room("agent", runs.total_bytes)
    wait_for_turn(comm, route.turn)
    read_runs(site, runs, buffer, complete=True)
    pass_turn(comm, route.turn)
    begin = 0
    for rank, parcel in enumerate(incoming):
        _, lengths, places = parcel.round(number)
        at = runs.at[begin : begin + lengths.size]
        begin += lengths.size
        if rank == comm.rank:
            copy_pieces(moved.memory, places, lengths, buffer, at)
        elif lengths.size:
            message = site.room(f"out{rank}", int(lengths.sum()))
            copy_pieces(message, places, lengths, buffer, at)
            requests.append(comm.Isend(message, rank, DATA))
    _wait_all(requests)
    for agent, parcel in enumerate(outgoing):
        _, lengths, places = parcel.round(number)
        if lengths.size and agent != comm.rank:
            copy_pieces(moved.memory, places, lengths, messages[agent], np.cumsum(lengths) - lengths)


def _receive(site: Site, parcels: list[Parcel], number: int) -> tuple[list[MPI.Request], list[Bytes]]:
    """Room for the messages of one round, and requests for them."""
    requests, messages = [], []
    for rank, parcel in enumerate(parcels):
        size = int(parcel.round(number)[1].sum()) if rank != site.comm.rank else 0
        messages.append(site.room(f"in{rank}", size))
        if size:
            requests.append(site.comm.Irecv(messages[-1], rank, DATA))
    return requests, messages


def _all_of(parcels: list[Parcel], number: int) -> tuple[Int64, Int64, Int64]:
    parts = [parcel.round(number) for parcel in parcels]
    offsets, lengths, places = (np.concatenate([part[column] for part in parts]) for column in range(3))
    return offsets, lengths, places


def _wait_all(requests: list[MPI.Request]) -> None:
    if requests:
        type(requests[0]).Waitall(requests)
