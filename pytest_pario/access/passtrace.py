"""The trace of what is done under the clock: noted while it runs, written when it has stopped (GPFS-54..57)."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

import numpy as np

from pytest_pario import mpi
from pytest_pario.access.failures import Subject
from pytest_pario.access.loops import Loop
from pytest_pario.access.trace import Trace, trace_from_environment
from pytest_pario.errors import ShortTransferError
from pytest_pario.model import Extents, Int64, Pattern


class _Entry(NamedTuple):
    begun_ns: int
    op: str
    offset: int | None
    length: int | None
    result: int | None
    error: Exception | None


class PassTrace:
    """Operations of one task on one file, in the order in which they began."""

    def __init__(self, trace: Trace, path: str) -> None:
        """Take the clock's distance from the time of day now, since its steps must not reorder a pass."""
        self._trace, self._subject, self._entries = trace, Subject(path, trace.rank), list[_Entry]()
        self._epoch_ns = time.time_ns() - time.monotonic_ns()

    def note(self, op: str, begun_ns: int, error: Exception | None = None) -> None:
        """An operation on the file as a whole, or one that failed before it came to its calls."""
        self._entries.append(_Entry(begun_ns, op, None, None, None, error))

    def add_calls(self, loop: Loop, places: Int64 | None, name: str) -> None:
        """The calls that a loop with a clock has made; `places`: where in the file each begins."""
        assert loop.times is not None
        begun_ns, asked, moved, failed = loop.times[:, 0], loop.series.sizes, loop.moved_bytes, dict(loop.errors)
        chosen = begun_ns > 0
        if self._trace.settings.mode == "errors":
            chosen &= moved != asked
            chosen[list(failed)] = True
        for call in np.flatnonzero(chosen).tolist():
            offset = None if places is None else int(places[call])
            wanted, got = int(asked[call]), int(moved[call])
            error: Exception | None = None
            if call in failed:
                error = _error_of(loop, failed[call])
            elif got != wanted:
                error = ShortTransferError(name, offset, wanted, got)
            self._entries.append(_Entry(int(begun_ns[call]), name, offset, wanted, got, error))

    def write(self) -> None:
        """Write down what was noted, and forget it; never while the clock runs."""
        path = self._subject.path
        for one in sorted(self._entries, key=lambda entry: entry.begun_ns):
            at_s = (self._epoch_ns + one.begun_ns) / 1e9
            if one.error is None:
                self._trace.success(one.op, path, one.offset, one.length, one.result, at_s=at_s)
                continue
            failure = self._subject.translate(one.op, one.error)
            if isinstance(failure, OSError):
                failure = self._subject.system_error(one.op, failure)
            self._trace.failure(one.op, path, one.offset, one.length, failure, at_s=at_s)
        self._entries.clear()


def _error_of(loop: Loop, code: int) -> Exception:
    if loop.series.target == "posix":
        return OSError(code, os.strerror(code))
    error: Exception = mpi.load().Exception(code)
    return error


def trace_pass(path: str) -> PassTrace | None:
    """Begin the trace of a pass on a file; None while tracing is off."""
    trace = trace_from_environment(mpi.load().COMM_WORLD.Get_rank())
    return None if trace is None else PassTrace(trace, path)


def places_of(pattern: Pattern, table: Extents) -> Int64 | None:
    """Where in the file each call begins; None where the pointer that all tasks move decides it."""
    return None if pattern.pointer == "shared" and not pattern.coll else table.first_offsets
