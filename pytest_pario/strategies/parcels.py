"""What each rank has with each agent in one call, agreed before any byte travels.

Whatever may lack memory on one rank is done before the exchange, and all ranks leave together where it fails on one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pytest_pario.errors import RemoteTaskError
from pytest_pario.model import Int64
from pytest_pario.schemes.partition import Pieces
from pytest_pario.strategies.protocol import Movement, Site
from pytest_pario.strategies.routes import FEW_ROUNDS, Rounds, Route

if TYPE_CHECKING:
    from mpi4py import MPI

T = TypeVar("T")
LISTS = 1
"""Tag."""


class AbandonedError(Exception):
    """All ranks leave this call; why is noted."""


@contextlib.contextmanager
def noting(site: Site) -> Iterator[None]:
    """Note what goes wrong on this rank, and go on: the others wait for its messages."""
    try:
        yield
    except Exception as error:
        site.errors.append(error)


def attempt(site: Site, action: Callable[[], T]) -> T | None:
    """Do something on this rank; None, and a note, where it fails."""
    try:
        return action()
    except Exception as error:
        site.errors.append(error)
        return None


def leave_if_any(site: Site, failed: Int64, mine: bool) -> None:
    """All leave where one has failed; `failed` is of each rank, `mine` whether this one has noted its own error."""
    if failed.any():
        if not mine:
            site.errors.append(RemoteTaskError("preparing a collective call", np.flatnonzero(failed).tolist()))
        raise AbandonedError


def prepare_together(site: Site, action: Callable[[], T]) -> T:
    """Do something on every rank; all leave the call where it fails on one."""
    result = attempt(site, action)
    failed = np.empty(site.comm.size, dtype=np.int64)
    site.comm.Allgather(np.array([result is None], dtype=np.int64), failed)
    leave_if_any(site, failed, result is None)
    assert result is not None
    return result


def agree_on_rounds(site: Site, route: Route, pieces: Pieces | None) -> Rounds:
    """The rounds in which anybody has bytes; all leave where one could not cut its `pieces` (None).

    A call may reach from the first to the last byte of a huge file and touch little of it.
    """
    if route.rounds <= FEW_ROUNDS:
        return Rounds(route, np.arange(route.rounds, dtype=np.int64))
    mine = attempt(site, lambda: np.unique(route.round_of(pieces.blocks))) if pieces is not None else None
    counts = np.empty(site.comm.size, dtype=np.int64)
    site.comm.Allgather(np.array([mine.size if mine is not None else -1], dtype=np.int64), counts)
    leave_if_any(site, (counts < 0).astype(np.int64), mine is None)
    found = np.empty(int(counts.sum()), dtype=np.int64)
    site.comm.Allgatherv(mine, [found, counts])
    return Rounds(route, np.unique(found))


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

    @property
    def most_bytes(self) -> int:
        """Bytes of the round that has most."""
        ends = np.concatenate(([0], np.cumsum(self.lengths)))[self.bounds]
        return int(np.diff(ends).max(initial=0))


@dataclass(frozen=True, eq=False)
class Parcels:
    """Everything that is moved in one call, seen from one rank."""

    mine: list[Parcel]
    """What this rank has with each agent."""
    theirs: list[Parcel]
    """What each rank has with this one as an agent."""
    rounds: int


def swap_parcels(site: Site, moved: Movement, route: Route) -> Parcels:
    """Cut, pack and tell the agents; the buffers of all messages are there afterwards, or all ranks have left."""
    comm = site.comm
    pieces = attempt(site, lambda: route.map.cut(moved.offsets, moved.lengths))
    rounds = agree_on_rounds(site, route, pieces)
    mine = attempt(site, lambda: _pack(moved, rounds, pieces, comm.size)) if pieces is not None else None
    told = _tell_sizes(comm, mine)
    leave_if_any(site, (told[:, 0] < 0).astype(np.int64), mine is None)
    assert mine is not None
    lists = prepare_together(site, lambda: _make_room(site, mine, told))
    _swap_lists(comm, mine, lists)
    theirs = [mine[rank] if rank == comm.rank else _opened(rounds, *pair) for rank, pair in enumerate(lists)]
    return Parcels(mine, theirs, rounds.count)


def _pack(moved: Movement, rounds: Rounds, pieces: Pieces, ranks: int) -> list[Parcel]:
    """This rank's pieces for each agent, by round, in file order as far as the caller's are."""
    places = moved.places[pieces.owners] + pieces.offsets - moved.offsets[pieces.owners]
    count = rounds.count
    key = rounds.route.map.server_of(pieces.blocks) * count + rounds.index_of(pieces.blocks)
    order = np.arange(key.size) if (key[1:] >= key[:-1]).all() else np.argsort(key, kind="stable")
    offsets, lengths, places, key = pieces.offsets[order], pieces.lengths[order], places[order], key[order]
    edges = np.searchsorted(key, np.arange(ranks * count + 1))
    found = []
    for agent in range(ranks):
        bounds = edges[agent * count : (agent + 1) * count + 1]
        part = slice(int(bounds[0]), int(bounds[-1]))
        found.append(Parcel(offsets[part], lengths[part], places[part], bounds - bounds[0]))
    return found


def _tell_sizes(comm: MPI.Intracomm, mine: list[Parcel] | None) -> Int64:
    """Pieces and most bytes of a round that each rank has for this one; -1 of a rank that could not pack."""
    sent = np.full((comm.size, 2), -1, dtype=np.int64)
    if mine is not None:
        sent[:] = [(parcel.offsets.size, parcel.most_bytes) for parcel in mine]
    received = np.empty_like(sent)
    comm.Alltoall(sent, received)
    return received


def _make_room(site: Site, mine: list[Parcel], told: Int64) -> list[Int64]:
    """Buffers of the messages with each rank, and the lists that are to come."""
    for rank, (parcel, most) in enumerate(zip(mine, told[:, 1].tolist(), strict=True)):
        if rank != site.comm.rank:
            site.room(f"mine{rank}", parcel.most_bytes)
            site.room(f"theirs{rank}", most)
    return [np.empty((2, count), dtype=np.int64) for count in told[:, 0].tolist()]


def _swap_lists(comm: MPI.Intracomm, mine: list[Parcel], lists: list[Int64]) -> None:
    """Tell every agent what it will get or has to deliver."""
    requests = [comm.Irecv(room, rank, LISTS) for rank, room in enumerate(lists) if room.shape[1] and rank != comm.rank]
    kept = []
    for rank, parcel in enumerate(mine):
        if parcel.offsets.size and rank != comm.rank:
            kept.append(np.stack((parcel.offsets, parcel.lengths)))
            requests.append(comm.Isend(kept[-1], rank, LISTS))
    wait_all(requests)


def _opened(rounds: Rounds, offsets: Int64, lengths: Int64) -> Parcel:
    which = rounds.index_of(rounds.route.blocks_of(offsets))
    bounds = np.searchsorted(which, np.arange(rounds.count + 1))
    ends = np.concatenate(([0], np.cumsum(lengths)))
    # a message holds one round
    return Parcel(offsets, lengths, ends[:-1] - ends[bounds[:-1]][which], bounds)


def wait_all(requests: list[MPI.Request]) -> None:
    """Wait for all of them."""
    if requests:
        type(requests[0]).Waitall(requests)
