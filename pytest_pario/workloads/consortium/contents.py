"""What each small file holds: a cut of its writer's stream, at a place of its own, so that no two are alike (GEN-02).

A tile for every file would cost more than the file. So files of one client share tiles: file i begins at cache line
i mod 4073 of tile i div 4073. Data up to one period long need no memory of their own, and are aligned (GEN-03).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pytest_pario.model import Damage
from pytest_pario.patterns import Files
from pytest_pario.patterns.payload import allocate
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.stamp import LINE, PERIOD, SLOTS, fill, make_tile

MOST_COMPARED = 100_000
"""Files with whose content damaged bytes are compared, to say whose they are."""


@dataclass(frozen=True)
class Contents:
    """The content of the files of all clients."""

    layout: Files
    clients: int
    seed: int = 0

    def of(self, rank: int, index: int) -> Bytes:
        """The bytes of file `index` of a client; shape (size,), not to be changed."""
        size, begin = self.layout.size, index % SLOTS * LINE
        tile = _aligned(self.seed, rank * -(-self.layout.count // SLOTS) + index // SLOTS)
        if size <= PERIOD:
            return tile[begin : begin + size]
        data = allocate(size)
        fill(data, begin, tile)
        return data

    def compare(self, path: str, rank: int, index: int, found: Bytes) -> Damage | None:
        """What is wrong with the bytes found in a file, or None if they are right in value and number."""
        wanted = self.of(rank, index)
        common = min(wanted.size, found.size)
        wrong = np.flatnonzero(wanted[:common] != found[:common])
        extra = abs(wanted.size - found.size)
        if not wrong.size and not extra:
            return None
        at = int(wrong[0]) if wrong.size else common
        return Damage(
            path=path,
            offset=at,
            expected=int(wanted[at]) if at < wanted.size else None,
            actual=int(found[at]) if at < found.size else None,
            bad_bytes=int(wrong.size) + extra,
            rank=rank if at < wanted.size else None,
            call=at // (self.layout.transfer or max(self.layout.size, 1)) if at < wanted.size else None,
            guess=self._guess(found),
        )

    def _guess(self, found: Bytes) -> str:
        size = self.layout.size
        if found.size != size:
            return f"the file has {found.size} B, {size} B were written"
        owners = ((rank, index) for rank in range(self.clients) for index in range(self.layout.count))
        for _, (rank, index) in zip(range(MOST_COMPARED), owners, strict=False):
            if np.array_equal(self.of(rank, index), found):
                return f"these are the bytes of {self.layout.names(rank)[index]}"
        return "these are the bytes of no file of this test"


@lru_cache(maxsize=64)
def _aligned(seed: int, writer: int) -> Bytes:
    tile = make_tile(seed, writer, 0)
    copy = allocate(tile.size)
    copy[:] = tile
    copy.flags.writeable = False
    return copy
