"""Direct-access records, as a Fortran program writes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_pario.access.calls import CALLS
from pytest_pario.access.loops import Series, posix_series
from pytest_pario.errors import ShortTransferError
from pytest_pario.model import Int64
from pytest_pario.workloads.btio.classes import POINT_BYTES
from pytest_pario.workloads.btio.outputs.descriptors import close, move_all, open_together
from pytest_pario.workloads.btio.outputs.looped import Looped
from pytest_pario.workloads.btio.outputs.protocol import FRONT, Site

RECORD_BUFFER = -(-65536 // POINT_BYTES) * POINT_BYTES
"""Records that follow each other in the file go out together once they fill 64 KiB: 1639 of them (BT §9.5)."""

Rows = tuple[Int64, Int64, Int64]
"""Start in the buffer, offset in the file and length of each."""


@dataclass(frozen=True)
class Held:
    """Records that wait for more which follow them in the file."""

    start: int = 0
    """Where in the buffer; negative before its beginning."""
    offset: int = 0
    size: int = 0


class Fortran(Looped):
    """Direct access of records of 40 bytes; those that follow each other in the file go out together (BT §9.5)."""

    name = "fortran"

    def __init__(self, site: Site) -> None:
        """Nothing is held back yet."""
        super().__init__(site)
        self._held = self._rest = Held()

    def open(self, *, writes: bool) -> None:
        """Every rank opens the file for itself."""
        self._writes, self._held = writes, Held()
        self._target = open_together(self.site.comm, self.path, writes, self.is_keeper)

    def _series(self, number: int) -> Series:
        starts, offsets, lengths = self._rows
        rows = starts, offsets + number * self.site.problem.field_bytes, lengths
        if self._writes:
            (starts, offsets, lengths), self._rest = hold_back(rows, self._held, RECORD_BUFFER)
        else:
            starts, offsets, lengths = merge_rows(*rows, RECORD_BUFFER)
        call = CALLS["write_at" if self._writes else "read_at"]
        return posix_series(self._target, call, self.site.room, FRONT + starts, lengths, offsets=offsets)

    def transfer(self, number: int) -> None:
        """All records that no later one can join; the others are kept, for the buffer is about to change."""
        super().transfer(number)
        if self._writes:
            rest, room = self._rest, self.site.room
            room[FRONT - rest.size : FRONT] = room[FRONT + rest.start : FRONT + rest.start + rest.size]
            self._held = rest

    def close(self) -> None:
        """Write what is still held back, and close the descriptor."""
        held, self._held = self._held, Held()
        try:
            if held.size:
                kept = self.site.room[FRONT - held.size : FRONT]
                moved = move_all(self._target, [kept.data], held.offset, writes=True)
                self.moved_bytes += moved
                if moved != held.size:
                    self.note(ShortTransferError("write", held.offset, held.size, moved))
        except OSError as error:
            self.note(error)
        close(self, self._target)


def hold_back(rows: Rows, held: Held, most: int) -> tuple[Rows, Held]:
    """Calls for what was held back and for some rows, without the last records if others may still join them."""
    starts, offsets, lengths = rows
    if held.size:
        starts, offsets, lengths = (
            np.append(one, row) for one, row in zip((-held.size, held.offset, held.size), rows, strict=True)
        )
    calls = merge_rows(starts, offsets, lengths, most)
    start, offset, size = (int(one[-1]) for one in calls)
    if size == most:
        return calls, Held()
    return (calls[0][:-1], calls[1][:-1], calls[2][:-1]), Held(start, offset, size)


def merge_rows(starts: Int64, offsets: Int64, lengths: Int64, most: int) -> Rows:
    """Join rows that follow each other in buffer and file, then cut what is longer than `most` bytes."""
    begins = np.flatnonzero(np.append(True, offsets[1:] != offsets[:-1] + lengths[:-1]))
    totals = np.add.reduceat(lengths, begins)
    counts = -(-totals // most)
    run = np.repeat(np.arange(len(begins)), counts)
    within = (np.arange(len(run)) - np.repeat(np.cumsum(counts) - counts, counts)) * most
    sizes = np.minimum(most, totals[run] - within)
    return starts[begins][run] + within, offsets[begins][run] + within, sizes
