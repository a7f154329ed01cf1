"""Bytes between ranks and agents, and agents at the file: the engine of every strategy with agents.

A map says which agent serves which block. Every rank cuts its pieces at the borders of blocks and sends each to its
agent; the agent lays what it gets side by side and touches the file in as few runs as there are (writes), or reads the
runs and sends the pieces back. An agent works in rounds, so that it never holds more than its buffer; an agent that
fails notes it and keeps sending and receiving.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np

from pytest_pario.patterns.pieces import Bytes, copy_pieces
from pytest_pario.schemes.timed import Turn
from pytest_pario.strategies.ahead import read_ahead
from pytest_pario.strategies.own import fill_holes, read_runs, write_runs
from pytest_pario.strategies.parcels import (
    AbandonedError,
    Parcel,
    Parcels,
    attempt,
    noting,
    swap_parcels,
    wait_all,
)
from pytest_pario.strategies.protocol import Movement, Site
from pytest_pario.strategies.routes import Route
from pytest_pario.strategies.runs import Runs, lay_runs, sieve_gap

if TYPE_CHECKING:
    from mpi4py import MPI

DATA, TURN = 2, 3
"""Tags."""
Laid = tuple[Runs, Bytes]
"""Runs and the buffer that holds them."""


def wait_for_turn(comm: MPI.Intracomm, turn: Turn) -> None:
    """Wait until everybody before has touched the file."""
    for rank in turn.before:
        comm.Recv(np.empty(0, dtype=np.uint8), rank, TURN)


def pass_turn(comm: MPI.Intracomm, turn: Turn) -> None:
    """Let those behind go on."""
    for rank in turn.after:
        comm.Send(np.empty(0, dtype=np.uint8), rank, TURN)


def exchange(site: Site, moved: Movement, route: Route) -> None:
    """Carry out one collective call; no rank leaves before its own bytes are where they belong."""
    with contextlib.suppress(AbandonedError):
        parcels = swap_parcels(site, moved, route)
        one_round = _write_round if moved.writes else _read_round
        for number in range(parcels.rounds):
            one_round(site, moved, route, number, parcels)


def _write_round(site: Site, moved: Movement, route: Route, number: int, parcels: Parcels) -> None:
    comm = site.comm
    requests, messages = _receive(site, parcels.theirs, number, "theirs")
    for agent, parcel in _others(site, parcels.mine, number):
        _, lengths, places = parcel.round(number)
        message = site.room(f"mine{agent}", int(lengths.sum()))
        with noting(site):
            copy_pieces(message, np.cumsum(lengths) - lengths, lengths, moved.memory, places)
        requests.append(comm.Isend(message, agent, DATA))
    laid = attempt(site, lambda: _lay(site, route, number, parcels.theirs))
    complete = laid is not None and fill_holes(site, *laid, route.most_runs)
    wait_all(requests)
    if laid is not None and complete:
        complete = bool(
            attempt(site, lambda: _take_in(site, moved, number, parcels.theirs, laid=laid, messages=messages))
        )
    wait_for_turn(comm, route.turn)
    if laid is not None and complete:
        write_runs(site, *laid, route.most_runs)
    pass_turn(comm, route.turn)


def _read_round(site: Site, moved: Movement, route: Route, number: int, parcels: Parcels) -> None:
    comm = site.comm
    requests, messages = _receive(site, parcels.mine, number, "mine")
    laid = attempt(site, lambda: _lay(site, route, number, parcels.theirs))
    wait_for_turn(comm, route.turn)
    if laid is not None and route.guide is not None:
        read_ahead(site, *laid, route.map.unit, route.guide)
    elif laid is not None:
        read_runs(site, *laid, route.most_runs, complete=True)
    pass_turn(comm, route.turn)
    if laid is not None:
        attempt(site, lambda: _give_out(site, moved, number, parcels.theirs, laid))
    for rank, parcel in _others(site, parcels.theirs, number):
        requests.append(comm.Isend(site.room(f"theirs{rank}", _size(parcel, number)), rank, DATA))
    wait_all(requests)
    for agent, parcel in _others(site, parcels.mine, number):
        _, lengths, places = parcel.round(number)
        with noting(site):
            copy_pieces(moved.memory, places, lengths, messages[agent], np.cumsum(lengths) - lengths)


def _lay(site: Site, route: Route, number: int, theirs: list[Parcel]) -> Laid:
    """How this agent will touch the file in a round, and the buffer for it."""
    parts = [parcel.round(number) for parcel in theirs]
    offsets, lengths = (np.concatenate([part[column] for part in parts]) for column in range(2))
    gap = sieve_gap(lengths) if route.gap is None else route.gap
    runs = lay_runs(offsets, lengths, route.blocks_of(offsets), gap, join=route.join)
    return runs, site.room("agent", runs.total_bytes)


def _take_in(
    site: Site, moved: Movement, number: int, theirs: list[Parcel], *, laid: Laid, messages: dict[int, Bytes]
) -> bool:
    """Put what came, and what is this rank's own, into the agent's buffer."""
    (runs, buffer), begin = laid, 0
    for rank, parcel in enumerate(theirs):
        _, lengths, places = parcel.round(number)
        at = runs.at[begin : begin + lengths.size]
        begin += lengths.size
        if lengths.size:
            source = moved.memory if rank == site.comm.rank else messages[rank]
            copy_pieces(buffer, at, lengths, source, places)
    return True


def _give_out(site: Site, moved: Movement, number: int, theirs: list[Parcel], laid: Laid) -> None:
    """Copy what was read into the messages to its owners, and to this rank's own places."""
    (runs, buffer), begin = laid, 0
    for rank, parcel in enumerate(theirs):
        _, lengths, places = parcel.round(number)
        at = runs.at[begin : begin + lengths.size]
        begin += lengths.size
        if lengths.size:
            out = moved.memory if rank == site.comm.rank else site.room(f"theirs{rank}", int(lengths.sum()))
            copy_pieces(out, places, lengths, buffer, at)


def _receive(
    site: Site, parcels: list[Parcel], number: int, purpose: str
) -> tuple[list[MPI.Request], dict[int, Bytes]]:
    """Requests for the messages of one round, and where they go."""
    messages = {
        rank: site.room(f"{purpose}{rank}", _size(parcel, number)) for rank, parcel in _others(site, parcels, number)
    }
    return [site.comm.Irecv(message, rank, DATA) for rank, message in messages.items()], messages


def _others(site: Site, parcels: list[Parcel], number: int) -> list[tuple[int, Parcel]]:
    """Other ranks with which there is something in a round."""
    return [
        (rank, parcel)
        for rank, parcel in enumerate(parcels)
        if rank != site.comm.rank and parcel.bounds[number + 1] > parcel.bounds[number]
    ]


def _size(parcel: Parcel, number: int) -> int:
    return int(parcel.round(number)[1].sum())
