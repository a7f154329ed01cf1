"""The calls of one rank, laid out before the clock starts, bound to a file when it is open."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np

from pytest_pario import mpi
from pytest_pario.access.calls import CALLS, DataCall
from pytest_pario.access.datatypes import datatype
from pytest_pario.access.locks import release_record_locks
from pytest_pario.access.loops import Loop, Member, gapped_series, mpi_series
from pytest_pario.access.passtrace import PassTrace
from pytest_pario.model import Access, Extents, Int64, Pattern
from pytest_pario.patterns.payload import Payload
from pytest_pario.patterns.recipe import Contiguous, Resized

if TYPE_CHECKING:
    from mpi4py import MPI


class Batch:
    """All calls of a rank in order; errors are noted and the loop goes on, as collective calls need."""

    def __init__(  # noqa: PLR0917 - what a call needs
        self,
        member: Member,
        call: DataCall,
        pattern: Pattern,
        offsets: Int64 | None,
        payload: Payload,
        path: str,
        *,
        places: Int64 | None = None,
        trace: PassTrace | None = None,
    ) -> None:
        """Check and lay out everything, and compile the loop where it is a compiled one; `places`: for the trace."""
        self.call, self.name, self.offsets, self._path = call, call.name, offsets, path
        self._places, self._trace = places, trace
        self._stack = contextlib.ExitStack()
        mem = pattern.mem
        if mem.gap:
            # one element is a piece with the gap behind it
            element = self._stack.enter_context(datatype(Resized(Contiguous(mem.piece), mem.piece + mem.gap)))
            counts = payload.sizes // (mem.piece + mem.gap)
            series = gapped_series(
                None, call, payload.data, payload.positions, counts, datatype=element, offsets=offsets
            )
        else:
            series = mpi_series(None, call, payload.data, payload.positions, payload.sizes, offsets=offsets)
        self._loop = Loop(series, member, timed=trace is not None, on_error=self._release)
        self.asked = series.sizes

    def bind(self, handle: MPI.File) -> None:
        """Use this open file."""
        self._loop.use(handle)

    def run(self, first: int, last: int) -> None:
        """Make calls first to last-1."""
        self._loop.run(first, last)

    def moved(self) -> Int64:
        """Bytes that each call moved, after the clock has stopped; shape (calls,)."""
        return self._loop.moved_bytes

    def tell(self) -> None:
        """Note every call in the trace, where there is one; after the clock has stopped (GPFS-55)."""
        if self._trace is not None:
            self._trace.add_calls(self._loop, self._places, self.name)

    def free(self) -> None:
        """Nothing is kept beyond the pass."""

    @property
    def errors(self) -> list[Exception]:
        """What went wrong, call by call."""
        return [mpi.load().Exception(code) for _, code in self._loop.errors]

    def _release(self, _call: int, _code: int) -> None:
        """A write that failed in data sieving may keep its record lock, for which the next writer would wait."""
        release_record_locks(self._path)


def call_of(pattern: Pattern, phase: Access) -> DataCall:
    """The data call of a pattern and a phase (MODEL-06)."""
    writes = phase != "read"
    for call in CALLS.values():
        if (call.pointer, call.collective, call.writes) == (pattern.pointer, pattern.coll, writes):
            return call
    raise LookupError(f"no call for pointer {pattern.pointer}, collective {pattern.coll}")


def needs_view(pattern: Pattern, table: Extents) -> bool:
    """Whether MPI is told by a view: always, but for explicit offsets whose calls are contiguous in the file."""
    return pattern.pointer != "explicit" or bool((np.diff(table.bounds) > 1).any())


def explicit_offsets(pattern: Pattern, table: Extents, calls_of_views: list[int] | None, etype: int) -> Int64 | None:
    """Offsets of explicit calls: bytes of the file without a view, else etypes of data under the view in force."""
    if pattern.pointer != "explicit":
        return None
    if calls_of_views is None:
        return table.first_offsets
    # data position of each call under its view, in etypes
    ends = np.concatenate(([0], np.cumsum(table.call_bytes)))
    first_calls = np.repeat(np.cumsum([0, *calls_of_views[:-1]]), calls_of_views)
    return np.asarray((ends[:-1] - ends[first_calls]) // etype, dtype=np.int64)
