"""The reads of resonant I/O with agents: agents ask for all that is wanted of their nodes, then everybody for its own.

The second look comes from the nodes' caches (RES-17, RES-18).
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pytest_pario.model import Int64
from pytest_pario.patterns.pieces import copy_pieces
from pytest_pario.schemes.partition import Pieces
from pytest_pario.schemes.ranges import merge_ranges
from pytest_pario.strategies.exchange import pass_turn, wait_for_turn
from pytest_pario.strategies.own import Joining, move_directly, start_directly
from pytest_pario.strategies.parcels import (
    AbandonedError,
    agree_on_rounds,
    attempt,
    leave_if_any,
    noting,
    prepare_together,
)
from pytest_pario.strategies.protocol import Movement, Site
from pytest_pario.strategies.routes import Rounds, Route

if TYPE_CHECKING:
    from mpi4py import MPI


def read_twice(site: Site, moved: Movement, route: Route) -> None:
    """One collective read, in rounds of an agent's buffer."""
    pieces = attempt(site, lambda: route.map.cut(moved.offsets, moved.lengths))
    with contextlib.suppress(AbandonedError):
        rounds = agree_on_rounds(site, route, pieces)
        begins, spans = _told_to_agents(site, route, pieces)
        assert pieces is not None
        places = moved.places[pieces.owners] + pieces.offsets - moved.offsets[pieces.owners]
        wanted = Movement(begins, np.zeros_like(begins), spans, moved.memory, writes=False)
        needed = Movement(pieces.offsets, places, pieces.lengths, moved.memory, writes=False)
        for fetch, own in zip(_by_round(wanted, rounds), _by_round(needed, rounds), strict=True):
            _one_round(site, route, fetch, own)


def _one_round(site: Site, route: Route, wanted: Movement, needed: Movement) -> None:
    """Synchronise after the requests were sent, not after the data came."""
    joining = Joining(route.map.unit, touching=route.join, most_runs=route.most_runs)
    wait_for_turn(site.comm, route.turn)
    fetch = attempt(site, lambda: _with_buffer(site, wanted))
    first = start_directly(site, fetch, joining) if fetch is not None else None
    own: npt.NDArray[np.bool_] | None = None
    try:
        pass_turn(site.comm, route.turn)
        site.comm.Barrier()
        with noting(site):
            own = route.map.server_of(route.blocks_of(needed.offsets)) == site.comm.rank
            move_directly(site, _chosen(needed, ~own), joining)
    finally:
        # whatever went wrong meanwhile, requests under way go to a buffer that is used again
        with noting(site):
            if first is not None:
                first.complete()
            if first is not None and fetch is not None and own is not None:
                _hand_over(fetch, _chosen(needed, own))


def _told_to_agents(site: Site, route: Route, pieces: Pieces | None) -> tuple[Int64, Int64]:
    """What this rank asks for as an agent: offsets and lengths, ascending and merged."""
    comm = site.comm
    packed = attempt(site, lambda: _packed(comm, route, pieces)) if pieces is not None else None
    counts = packed[0] if packed is not None else np.full(comm.size, -1, dtype=np.int64)
    sizes = np.empty_like(counts)
    comm.Alltoall(counts, sizes)
    leave_if_any(site, (sizes < 0).astype(np.int64), packed is None)
    assert packed is not None
    received = prepare_together(site, lambda: np.empty(2 * int(sizes.sum()), dtype=np.int64))
    comm.Alltoallv([packed[1], counts * 2], [received, sizes * 2])
    return prepare_together(site, lambda: merge_ranges(received[0::2], received[1::2], route.map.unit, join=route.join))


def _packed(comm: MPI.Intracomm, route: Route, pieces: Pieces) -> tuple[Int64, Int64]:
    """Pieces for each agent, and all of them as pairs of offset and length in that order."""
    agent = route.map.server_of(pieces.blocks)
    order = np.argsort(agent, kind="stable")
    counts = np.bincount(agent, minlength=comm.size).astype(np.int64)
    return counts, np.stack((pieces.offsets[order], pieces.lengths[order]), axis=1).ravel()


def _by_round(moved: Movement, rounds: Rounds) -> list[Movement]:
    which = rounds.index_of(rounds.route.blocks_of(moved.offsets))
    order = np.argsort(which, kind="stable")
    edges = np.searchsorted(which[order], np.arange(1, rounds.count))
    return [_chosen(moved, part) for part in np.split(order, edges)]


def _chosen(moved: Movement, which: Int64 | np.ndarray) -> Movement:
    return Movement(moved.offsets[which], moved.places[which], moved.lengths[which], moved.memory, moved.writes)


def _with_buffer(site: Site, wanted: Movement) -> Movement:
    """The ranges of an agent side by side in a buffer of their own."""
    places = np.cumsum(wanted.lengths) - wanted.lengths
    return Movement(wanted.offsets, places, wanted.lengths, site.room("agent", int(wanted.lengths.sum())), writes=False)


def _hand_over(fetched: Movement, wanted: Movement) -> None:
    """Copy an agent's own bytes out of what it fetched for all."""
    if not wanted.offsets.size:
        return
    run = np.searchsorted(fetched.offsets, wanted.offsets, side="right") - 1
    at = fetched.places[run] + wanted.offsets - fetched.offsets[run]
    copy_pieces(wanted.memory, wanted.places, wanted.lengths, fetched.memory, at)
