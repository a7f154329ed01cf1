"""Direct-access records, as a Fortran program writes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pytest_pario.access.calls import CALLS
from pytest_pario.access.loops import posix_series
from pytest_pario.model import Int64
from pytest_pario.workloads.btio.classes import POINT_BYTES
from pytest_pario.workloads.btio.outputs.descriptors import close, open_together
from pytest_pario.workloads.btio.outputs.looped import Looped

RECORD_BUFFER = 65536 // POINT_BYTES * POINT_BYTES
"""Consecutive records of direct access go out together as far as they fit into 64 KiB (BT §9.5)."""


class Fortran(Looped):
    """Direct access of records of 40 bytes; those that follow each other in the file go out together (BT §9.5)."""

    name = "fortran"

    def _lay_out(self) -> tuple[Int64, Int64, Int64]:
        return merge_rows(*self.site.rows, RECORD_BUFFER)

    def open(self, *, writes: bool) -> None:
        """Every rank opens the file for itself."""
        self._writes = writes
        self._target = open_together(self.site.comm, self.path, writes, self.is_keeper)

    def _series(self, number: int) -> Any:
        starts, offsets, lengths = self._rows
        call = CALLS["write_at" if self._writes else "read_at"]
        places = offsets + number * self.site.problem.field_bytes
        return posix_series(self._target, call, self.site.buffer, starts, lengths, offsets=places)

    def close(self) -> None:
        """Close the descriptor."""
        close(self, self._target)


def merge_rows(starts: Int64, offsets: Int64, lengths: Int64, most: int) -> tuple[Int64, Int64, Int64]:
    """Join rows that follow each other in buffer and file, then cut what is longer than `most` bytes."""
    begins = np.flatnonzero(np.append(True, offsets[1:] != offsets[:-1] + lengths[:-1]))
    totals = np.add.reduceat(lengths, begins)
    counts = -(-totals // most)
    run = np.repeat(np.arange(len(begins)), counts)
    within = (np.arange(len(run)) - np.repeat(np.cumsum(counts) - counts, counts)) * most
    sizes = np.minimum(most, totals[run] - within)
    return starts[begins][run] + within, offsets[begins][run] + within, sizes
