"""Hands out the calls of a pattern in chunks, the first of them laid out before the clock starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np

from pytest_pario.access.batch import Batch, call_of
from pytest_pario.access.loops import Member
from pytest_pario.access.passtrace import PassTrace, places_of
from pytest_pario.access.target import Target
from pytest_pario.errors import ShortTransferError
from pytest_pario.model import Access, Extents, Int64, Plan
from pytest_pario.patterns.payload import Payload
from pytest_pario.patterns.planning import period, plan
from pytest_pario.patterns.protocol import Layout

if TYPE_CHECKING:
    from mpi4py import MPI

CHUNK_CALLS = 4096
FASTEST_CALL_S = 1e-6
"""No call is faster, so no time-driven loop makes more calls than this tells."""


class Handing:
    """The calls of one rank from repetition 0 on, as far as they have been needed."""

    def __init__(
        self,
        target: Target,
        filling: Callable[[Plan], Payload],
        member: Member,
        *,
        ring: Callable[[Extents], Payload] | None = None,
        phase: Access = "write",
        base: int = 0,
        chunk_calls: int = CHUNK_CALLS,
        trace: PassTrace | None = None,
    ) -> None:
        """Repetition 0 begins at `base` of the file; `filling` gives the memory of a part of the calls.

        `ring` does so from a table with one extent per call, in place of `filling`: a call of a thousand chunks then
        costs no more to lay out than one of a single chunk.
        """
        self._target, self._filling, self._member, self._ring = target, filling, member, ring
        self._phase, self._base, self._n, self._trace = phase, base, target.comm.size, trace
        table = self._unit = plan(target.pattern, self._n, 1).ranks[target.rank]
        self.bytes_each, self._calls = table.total_bytes, table.call_count
        self.chunk = max(1, chunk_calls // max(1, self._calls))
        """Repetitions of one chunk."""
        limit = cast(Layout, target.pattern.placed(self._n)).limit(self._n)
        self._step = period(target.pattern, self._n)
        self.most = (limit - base) // max(1, self._step) if limit is not None else 1 << 40
        """Repetitions that the layout has room for."""
        self.batches: list[Batch] = []
        self.handle: MPI.File | None = None
        self._etype: int | None = None

    @property
    def plan(self) -> Plan:
        """The plan of the first chunk."""
        return plan(self._target.pattern, self._n, min(self.chunk, self.most), self._base)

    def part(self, first: int) -> Plan:
        """The plan of the chunk that begins with repetition `first`."""
        return plan(self._target.pattern, self._n, min(self.chunk, self.most - first), self._base, first)

    def lay_out(self, first: int, etype: int | None = None) -> None:
        """Lay out the calls of a chunk; `etype` is that of a view under which offsets are explicit."""
        self._etype = etype
        if self._ring is not None and self._target.pattern.pointer != "explicit":
            table = self._call_table(first, min(self.chunk, self.most - first))
            self._append(None, self._ring(table), table)
            return
        part = self.part(first)
        table = part.ranks[self._target.rank]
        offsets = None
        if self._target.pattern.pointer == "explicit":
            offsets = table.first_offsets
            if etype is not None:
                ends = np.cumsum(table.call_bytes) - table.call_bytes + first * self.bytes_each
                offsets = np.asarray(ends // etype, dtype=np.int64)
        self._append(offsets, self._filling(part), table)

    def _append(self, offsets: Int64 | None, payload: Payload, table: Extents) -> None:
        pattern, path = self._target.pattern, str(self._target.own_file)
        call, places = call_of(pattern, self._phase), places_of(pattern, table)
        batch = Batch(self._member, call, pattern, offsets, payload, path, places=places, trace=self._trace)
        self.batches.append(batch)

    def _call_table(self, first: int, count: int) -> Extents:
        """One extent per call: where it begins, and all its bytes."""
        starts = self._base + (first + np.arange(count, dtype=np.int64)) * self._step
        offsets = (starts[:, None] + self._unit.first_offsets).ravel()
        sizes = np.tile(self._unit.call_bytes, count)
        return Extents(offsets[sizes > 0], sizes[sizes > 0], np.concatenate(([0], np.cumsum(sizes > 0))))

    def run(self, first: int, last: int) -> None:
        """Make repetitions first to last-1."""
        assert self.handle is not None
        while first < last:
            number = first // self.chunk
            if number == len(self.batches):
                self.lay_out(first, self._etype)
            stop = min(last, (number + 1) * self.chunk)
            batch, begin = self.batches[number], number * self.chunk
            batch.bind(self.handle)
            batch.run((first - begin) * self._calls, (stop - begin) * self._calls)
            first = stop

    def tell(self) -> None:
        """Note every call that was made in the trace, where there is one."""
        for batch in self.batches:
            batch.tell()

    @property
    def moved_bytes(self) -> int:
        """Bytes of all calls, after the clock has stopped."""
        return sum(int(batch.moved().sum()) for batch in self.batches)

    def check(self, repetitions: int) -> list[Exception]:
        """What went wrong: errors of calls, or bytes that are missing without one."""
        errors = [error for batch in self.batches for error in batch.errors]
        asked, moved = repetitions * self.bytes_each, self.moved_bytes
        if moved != asked and not errors:
            errors.append(ShortTransferError(self._target.pattern.name, None, asked, moved))
        return errors
