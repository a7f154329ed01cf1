"""What each small file holds: a cut of its writer's stream, at a place of its own, so that no two are alike (GEN-02).

A stream for every file would cost more than the file. So some files of one client, 4 MiB of them, share a stream: they
are cuts of it side by side, each from a cache line on, which are made once and need no memory of their own (GEN-03).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pytest_pario.model import Damage
from pytest_pario.patterns import Files
from pytest_pario.patterns.payload import allocate
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.stamp import LINE
from pytest_pario.patterns.stream import make_stream

SHARED = 4 << 20
"""Bytes of the files that share a stream."""
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
        size, room = self.layout.size, -(-max(self.layout.size, 1) // LINE) * LINE
        each = min(max(1, SHARED // room), self.layout.count)
        writer = rank * -(-self.layout.count // each) + index // each
        make = _make_shared if room <= SHARED else _make_shared.__wrapped__
        begin = index % each * room
        return make(self.seed, writer, each * room)[begin : begin + size]

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


@lru_cache(maxsize=16)
def _make_shared(seed: int, writer: int, size: int) -> Bytes:
    data = allocate(size)
    make_stream(seed, writer, 0).fill(data, 0)
    data.flags.writeable = False
    return data
