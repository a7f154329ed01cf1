"""A rank's own access to the file: the part of every strategy that touches storage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_pario.errors import ShortTransferError
from pytest_pario.patterns.pieces import Bytes, copy_pieces
from pytest_pario.schemes.agents import LIST_LIMIT
from pytest_pario.strategies.protocol import Movement, Pending, Site
from pytest_pario.strategies.runs import SIEVE_GAP, Runs, lay_runs


def write_runs(site: Site, runs: Runs, buffer: Bytes) -> None:
    """Write a laid-out buffer, run by run in ascending order; the first error ends it."""
    try:
        for begin, size, place in _rows(runs):
            _check(site, "write", begin, size, site.file.write_at(begin, buffer[place : place + size]))
    except Exception as error:
        site.errors.append(error)


def read_runs(site: Site, runs: Runs, buffer: Bytes, *, complete: bool) -> None:
    """Fill a buffer, run by run in ascending order; the first error ends it.

    Where the bytes need not be `complete`, a file that ends early reads as zeros: there is nothing yet to keep.
    """
    try:
        for begin, size, place in _rows(runs):
            part = buffer[place : place + size]
            moved = site.file.read_at(begin, part)
            if complete:
                _check(site, "read", begin, size, moved)
            else:
                part[moved:] = 0
    except Exception as error:
        site.errors.append(error)


def fill_holes(site: Site, runs: Runs, buffer: Bytes) -> None:
    """Read what lies in the holes of the runs that have any, so that they can be written in one piece."""
    if runs.has_holes.any():
        which = runs.has_holes > 0
        holed = Runs(runs.begins[which], runs.sizes[which], runs.places[which], runs.has_holes[which], runs.at)
        read_runs(site, holed, buffer, complete=False)


def move_directly(site: Site, moved: Movement, unit: int = 0) -> None:
    """Move a rank's own bytes, nobody else taking part: pieces that touch in the file are one call.

    Reads bridge short holes inside a `unit`; writes never do, for what lies in a hole may belong to another rank.
    """
    if moved.offsets.size == 1:
        _move_one(site, moved)
        return
    runs = _own_runs(moved, unit)
    buffer = _gathered(site, moved, runs, "own")
    if moved.writes:
        write_runs(site, runs, buffer)
        return
    read_runs(site, runs, buffer, complete=True)
    _spread(moved, runs, buffer)


def _move_one(site: Site, moved: Movement) -> None:
    """One contiguous piece needs no layout: what that costs would be most of a small call."""
    offset, place, length = int(moved.offsets[0]), int(moved.places[0]), int(moved.lengths[0])
    kind, move = ("write", site.file.write_at) if moved.writes else ("read", site.file.read_at)
    try:
        _check(site, kind, offset, length, move(offset, moved.memory[place : place + length]))
    except Exception as error:
        site.errors.append(error)


def start_directly(site: Site, moved: Movement, unit: int = 0, limit: int = LIST_LIMIT) -> Finish:
    """Ask for a rank's own bytes in lists of at most `limit` and return what is left to do when they are there.

    All but the last list are waited for, as a node takes one list at a time.
    """
    runs = _own_runs(moved, unit)
    return Finish(site, moved, runs, _gathered(site, moved, runs, "started"), limit)


class Finish:
    """Transfers under way, and the copy out of their buffer that follows a read."""

    def __init__(self, site: Site, moved: Movement, runs: Runs, buffer: Bytes, limit: int) -> None:
        """Ask for all of it."""
        self._site, self._moved, self._runs, self._buffer = site, moved, runs, buffer
        self._pending: list[tuple[int, int, Pending]] = []
        start = site.file.start_write if moved.writes else site.file.start_read
        try:
            for begin, size, place in _rows(runs):
                if len(self._pending) == limit:
                    self._wait()
                self._pending.append((begin, size, start(begin, buffer[place : place + size])))
        except Exception as error:
            site.errors.append(error)

    def complete(self) -> None:
        """Wait for the last list; read bytes go to their places."""
        self._wait()
        if not self._moved.writes:
            _spread(self._moved, self._runs, self._buffer)

    def _wait(self) -> None:
        kind = "write" if self._moved.writes else "read"
        for begin, size, pending in self._pending:
            try:
                _check(self._site, kind, begin, size, pending.wait())
            except Exception as error:
                self._site.errors.append(error)
        self._pending = []


def _own_runs(moved: Movement, unit: int) -> Runs:
    bridges = unit and not moved.writes
    blocks = moved.offsets // unit if unit else np.zeros_like(moved.offsets)
    return lay_runs(moved.offsets, moved.lengths, blocks, SIEVE_GAP if bridges else 0)


def _rows(runs: Runs) -> Sequence[tuple[int, int, int]]:
    return list(zip(runs.begins.tolist(), runs.sizes.tolist(), runs.places.tolist(), strict=True))


def _gathered(site: Site, moved: Movement, runs: Runs, purpose: str) -> Bytes:
    """The buffer of the runs: the memory itself where it lies as the file does, else a copy in file order."""
    plain = moved.places.size and not runs.has_holes.any()
    if plain and np.array_equal(moved.places - moved.places[0], runs.at):
        begin = int(moved.places[0])
        return moved.memory[begin : begin + runs.total_bytes]
    buffer = site.room(purpose, runs.total_bytes)
    if moved.writes:
        copy_pieces(buffer, runs.at, moved.lengths, moved.memory, moved.places)
    return buffer


def _spread(moved: Movement, runs: Runs, buffer: Bytes) -> None:
    if not np.may_share_memory(buffer, moved.memory):
        copy_pieces(moved.memory, moved.places, moved.lengths, buffer, runs.at)


def _check(site: Site, kind: str, offset: int, asked: int, moved: int) -> None:
    if moved != asked:
        site.errors.append(ShortTransferError(kind, offset, asked, moved))
