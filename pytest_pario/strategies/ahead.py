"""An agent that reads ahead: it asks for the ranges that come next while it takes in those before (GPFS-42)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_pario.errors import ShortTransferError
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.schemes.prefetch import Range, covering_ranges, guided_accesses, needs_guidance
from pytest_pario.strategies.own import read_runs
from pytest_pario.strategies.protocol import Pending, Site
from pytest_pario.strategies.routes import Guide
from pytest_pario.strategies.runs import Runs


class AheadReader:
    """Grants every range by a read that is under way; what was not asked for is read when it is wanted."""

    def __init__(self, site: Site, runs: Runs, buffer: Bytes) -> None:
        """Read into the buffer of the runs."""
        self._site, self._runs, self._buffer = site, runs, buffer
        self._under_way: dict[Range, Pending] = {}
        self.most = 0
        """Most ranges that were under way at once."""

    def hint(self, soon: Sequence[Range], finished: Sequence[Range]) -> int:
        """Ask for ranges; those finished were forgotten when they were taken in."""
        for one in soon:
            self._under_way[one] = self._site.file.start_read(one[0], self._place(one))
        self.most = max(self.most, len(self._under_way))
        return len(soon)

    def take_in(self, one: Range) -> None:
        """Wait for a range."""
        pending = self._under_way.pop(one, None)
        moved = pending.wait() if pending is not None else self._site.file.read_at(one[0], self._place(one))
        if moved != one[1]:
            self._site.errors.append(ShortTransferError("read", one[0], one[1], moved))

    def settle(self) -> None:
        """Wait for whatever is still under way, for its buffer is used again; errors are noted."""
        while self._under_way:
            _, pending = self._under_way.popitem()
            try:
                pending.wait()
            except Exception as error:
                self._site.errors.append(error)

    def _place(self, one: Range) -> Bytes:
        run = int(np.searchsorted(self._runs.begins, one[0], side="right")) - 1
        at = int(self._runs.places[run]) + one[0] - int(self._runs.begins[run])
        return self._buffer[at : at + one[1]]


def read_ahead(site: Site, runs: Runs, buffer: Bytes, block: int, guide: Guide) -> None:
    """Fill a buffer by one range per file block; ranges that are regular need no guidance. The first error ends it."""
    if not needs_guidance(runs.begins, runs.sizes):
        read_runs(site, runs, buffer, complete=True)
        return
    reader = AheadReader(site, runs, buffer)
    ranges = covering_ranges(runs.begins, runs.sizes, block)
    try:
        for one in guided_accesses(ranges, reader, guide.max_pre, guide.max_acc):
            reader.take_in(one)
    except Exception as error:
        site.errors.append(error)
    finally:
        reader.settle()
