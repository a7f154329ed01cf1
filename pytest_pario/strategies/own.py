"""A rank's own access to the file: the part of every strategy that touches storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_pario.errors import ShortTransferError
from pytest_pario.patterns.pieces import Bytes, copy_pieces, split
from pytest_pario.schemes.settings import BUFFER
from pytest_pario.strategies.parcels import noting
from pytest_pario.strategies.protocol import Movement, Pending, Site
from pytest_pario.strategies.runs import RUNS_AT_ONCE, Runs, lay_runs, sieve_gap
from pytest_pario.units import GiB

MANY = 8
"""Fewer runs cost less by a call each than as a list, whose view has to be set."""
BYTES_AT_ONCE = 1 * GiB
"""Bytes of a list: libraries before MPI 4 take counts below 2^31 only."""


@dataclass(frozen=True)
class Joining:
    """Which of a rank's own pieces are moved in one call."""

    unit: int = 0
    """Short holes inside a unit are moved along; 0 moves none."""
    alone: bool = False
    """Whether nobody else writes where this rank does, so that it may also write holes back."""
    touching: bool = True
    """Whether pieces that touch are one call."""
    most_runs: int = RUNS_AT_ONCE
    """Runs that a list takes."""

    def lay(self, moved: Movement) -> Runs:
        """The runs of a movement."""
        bridges = self.unit and (self.alone or not moved.writes)
        blocks = moved.offsets // self.unit if self.unit else np.zeros_like(moved.offsets)
        gap = sieve_gap(moved.lengths) if bridges else 0
        return lay_runs(moved.offsets, moved.lengths, blocks, gap, join=self.touching)


def write_runs(site: Site, runs: Runs, buffer: Bytes, most_runs: int = RUNS_AT_ONCE) -> None:
    """Write a laid-out buffer in ascending order; the first error ends it."""
    with noting(site):
        for part in runs.lists(most_runs, BYTES_AT_ONCE):
            if not _move_list(site, part, buffer, writes=True):
                for begin, size, place in _rows(part):
                    _check(site, "write", begin, size, site.file.write_at(begin, buffer[place : place + size]))


def read_runs(site: Site, runs: Runs, buffer: Bytes, most_runs: int = RUNS_AT_ONCE, *, complete: bool) -> None:
    """Fill a buffer in ascending order; the first error ends it.

    Where the bytes need not be `complete`, a file that ends early reads as zeros: there is nothing yet to keep.
    """
    with noting(site):
        for part in runs.lists(most_runs, BYTES_AT_ONCE):
            if not _move_list(site, part, buffer, writes=False):
                _read_each(site, part, buffer, complete=complete)


def _read_each(site: Site, runs: Runs, buffer: Bytes, *, complete: bool) -> None:
    for begin, size, place in _rows(runs):
        part = buffer[place : place + size]
        moved = site.file.read_at(begin, part)
        if complete:
            _check(site, "read", begin, size, moved)
        else:
            part[moved:] = 0


def _move_list(site: Site, runs: Runs, buffer: Bytes, *, writes: bool) -> bool:
    """Move many runs by one request; False where they are few, or the file takes no such list."""
    pending = site.file.start_list(runs, buffer, writes=writes) if runs.begins.size >= MANY else None
    if pending is None:
        return False
    _check(site, "write" if writes else "read", int(runs.begins[0]), runs.total_bytes, pending.wait())
    return True


def fill_holes(site: Site, runs: Runs, buffer: Bytes, most_runs: int = RUNS_AT_ONCE) -> bool:
    """Read what lies in the holes of the runs that have any; whether they can be written in one piece now."""
    if not runs.has_holes.any():
        return True
    before = len(site.errors)
    read_runs(site, runs.some(runs.has_holes > 0), buffer, most_runs, complete=False)
    return len(site.errors) == before


def windows(moved: Movement, window: int) -> Iterator[Movement]:
    """A movement in parts that lie in one window of the file each, ascending."""
    owners, begins, lengths = split(moved.offsets, moved.lengths, window)
    places = moved.places[owners] + begins - moved.offsets[owners]
    numbers = begins // window
    order = np.argsort(numbers, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
        yield Movement(begins[part], places[part], lengths[part], moved.memory, moved.writes)


def move_directly(site: Site, moved: Movement, joining: Joining, window: int = BUFFER) -> None:
    """Move a rank's own bytes, nobody else taking part, with a buffer of at most `window` bytes; errors are noted."""
    try:
        if moved.offsets.size == 1:
            _move_one(site, moved)
            return
        runs = joining.lay(moved)
        if runs.total_bytes <= window or _lies_as_the_file(moved, runs):
            _move_laid(site, moved, runs, joining)
            return
        for part in windows(moved, window):
            _move_laid(site, part, joining.lay(part), joining)
    except Exception as error:
        site.errors.append(error)


def _move_laid(site: Site, moved: Movement, runs: Runs, joining: Joining) -> None:
    buffer = _gathered(site, moved, runs, "own", joining.most_runs)
    if buffer is None:
        return
    if moved.writes:
        write_runs(site, runs, buffer, joining.most_runs)
        return
    read_runs(site, runs, buffer, joining.most_runs, complete=True)
    _spread(moved, runs, buffer)


def _move_one(site: Site, moved: Movement) -> None:
    """One contiguous piece needs no layout: what that costs would be most of a small call."""
    offset, place, length = int(moved.offsets[0]), int(moved.places[0]), int(moved.lengths[0])
    kind, move = ("write", site.file.write_at) if moved.writes else ("read", site.file.read_at)
    try:
        _check(site, kind, offset, length, move(offset, moved.memory[place : place + length]))
    except Exception as error:
        site.errors.append(error)


def start_directly(site: Site, moved: Movement, joining: Joining) -> Finish | None:
    """Ask for a rank's own bytes in lists and return what is left to do when they are there.

    All but the last list are waited for, as a node takes one list at a time. None, and a note, where that fails.
    """
    try:
        runs = joining.lay(moved)
        buffer = _gathered(site, moved, runs, "started", joining.most_runs)
        return Finish(site, moved, runs, buffer, joining.most_runs) if buffer is not None else None
    except Exception as error:
        site.errors.append(error)
        return None


class Finish:
    """Transfers under way, and the copy out of their buffer that follows a read."""

    def __init__(self, site: Site, moved: Movement, runs: Runs, buffer: Bytes, most_runs: int) -> None:
        """Ask for all of it."""
        self._site, self._moved, self._runs, self._buffer = site, moved, runs, buffer
        self._pending: list[tuple[int, int, Pending]] = []
        """Where each request begins and its bytes."""
        with noting(site):
            for part in runs.lists(most_runs, BYTES_AT_ONCE):
                self._wait()
                self._ask(part)

    def complete(self) -> None:
        """Wait for the last list; read bytes go to their places."""
        self._wait()
        if not self._moved.writes:
            _spread(self._moved, self._runs, self._buffer)

    def _ask(self, runs: Runs) -> None:
        """One list, or a request for each run where the file takes none."""
        file, writes = self._site.file, self._moved.writes
        whole = file.start_list(runs, self._buffer, writes=writes) if runs.begins.size > 1 else None
        if whole is not None:
            self._pending.append((int(runs.begins[0]), runs.total_bytes, whole))
            return
        start = file.start_write if writes else file.start_read
        for begin, size, place in _rows(runs):
            self._pending.append((begin, size, start(begin, self._buffer[place : place + size])))

    def _wait(self) -> None:
        kind = "write" if self._moved.writes else "read"
        for begin, size, pending in self._pending:
            try:
                _check(self._site, kind, begin, size, pending.wait())
            except Exception as error:
                self._site.errors.append(error)
        self._pending = []


def _rows(runs: Runs) -> Sequence[tuple[int, int, int]]:
    return list(zip(runs.begins.tolist(), runs.sizes.tolist(), runs.places.tolist(), strict=True))


def _lies_as_the_file(moved: Movement, runs: Runs) -> bool:
    """Whether memory has the pieces side by side in the order of the file, so that no buffer is needed."""
    plain = bool(moved.places.size) and not runs.has_holes.any()
    return plain and np.array_equal(moved.places - moved.places[0], runs.at)


def _gathered(site: Site, moved: Movement, runs: Runs, purpose: str, most_runs: int) -> Bytes | None:
    """The buffer of the runs: the memory itself or a copy in file order; None where holes could not be read."""
    if _lies_as_the_file(moved, runs):
        begin = int(moved.places[0])
        return moved.memory[begin : begin + runs.total_bytes]
    buffer = site.room(purpose, runs.total_bytes)
    if moved.writes:
        if not fill_holes(site, runs, buffer, most_runs):
            return None
        copy_pieces(buffer, runs.at, moved.lengths, moved.memory, moved.places)
    return buffer


def _spread(moved: Movement, runs: Runs, buffer: Bytes) -> None:
    if not np.may_share_memory(buffer, moved.memory):
        copy_pieces(moved.memory, moved.places, moved.lengths, buffer, runs.at)


def _check(site: Site, kind: str, offset: int, asked: int, moved: int) -> None:
    if moved != asked:
        site.errors.append(ShortTransferError(kind, offset, asked, moved))
