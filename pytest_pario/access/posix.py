"""The same plan with plain POSIX calls (MODEL-09), buffered or with O_DIRECT."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from pytest_pario import mpi
from pytest_pario.access.calls import CALLS
from pytest_pario.access.deeds import Deeds, carry_out, course_of
from pytest_pario.access.executor import PLAIN, Manner, Pass
from pytest_pario.access.failures import Subject
from pytest_pario.access.loops import Loop, Member, choose_loop, posix_series
from pytest_pario.access.passtrace import PassTrace, trace_pass
from pytest_pario.access.target import Target
from pytest_pario.errors import ParameterError, ShortTransferError
from pytest_pario.model import Access, Extents, Int64, Plan
from pytest_pario.patterns.payload import Payload


def run_posix_pass(
    target: Target, work: Plan, phase: Access, payload: Payload, manner: Manner = PLAIN, *, direct: int = 0
) -> Pass:
    """Make one pass with pwrite or pread; `direct` is the alignment of O_DIRECT, 0 for buffered calls."""
    table, name = work.ranks[target.rank], target.pattern.name
    member = choose_loop(manner.loop, target="posix", comm=target.comm)

    def lay_out() -> _PosixFile:
        if direct:
            require_aligned(name, table, payload, direct)
        trace = trace_pass(str(target.own_file))
        loop = _lay_out(table, phase, payload, member, timed=trace is not None)
        return _PosixFile(target, phase, table, loop, direct=bool(direct), trace=trace)

    # sizes and offsets differ between ranks: what one of them cannot do ends the pass for all (GPFS-47)
    doing = mpi.together(target.comm, f"{name}: laying out calls", lay_out)
    course = course_of(target.pattern, phase, intra_barriers=manner.intra_barriers)
    watch = carry_out(target.comm, doing, course)
    doing.tell()
    moved = doing.moved_bytes
    errors = doing.errors
    if moved != table.total_bytes and not errors:
        errors.append(ShortTransferError(doing.call, None, table.total_bytes, moved))
    return Pass(watch.times(moved), errors, acts=tuple(doing.deeds.acts))


def _lay_out(table: Extents, phase: Access, payload: Payload, member: Member, *, timed: bool) -> Loop:
    call = CALLS["read_at" if phase == "read" else "write_at"]
    series = posix_series(None, call, payload.data, *_pieces(table, payload), offsets=table.offsets)
    return Loop(series, member, timed=timed)


class _PosixFile:
    """The file of a target, opened by this rank alone."""

    def __init__(
        self, target: Target, phase: Access, table: Extents, loop: Loop, *, direct: bool, trace: PassTrace | None
    ) -> None:
        self.deeds, self._subject = Deeds(trace=trace), Subject(str(target.own_file), target.rank)
        self._flags = os.O_RDONLY if phase == "read" else os.O_RDWR | os.O_CREAT
        self._flags |= os.O_DIRECT if direct else 0
        self.call = "pread" if phase == "read" else "pwrite"
        self._path, self._table, self._loop = target.own_file, table, loop
        self._handle: int | None = None

    @property
    def handle(self) -> int:
        """Number of the open file."""
        assert self._handle is not None
        return self._handle

    def open(self) -> None:
        """Open, and create where it is written."""
        self._handle = os.open(self._path, self._flags, 0o644)

    def accesses(self, one_by_one: bool) -> Iterator[Callable[[], object]]:
        """All extents at once, or those of each call."""
        if self._handle is None:
            return
        self.deeds.attempt("access", lambda: self._loop.use(self.handle))
        if not one_by_one:
            yield self._loop.run
            return
        for first, last in pairwise(self._table.bounds.tolist()):
            yield functools.partial(self._loop.run, first, last)

    def sync(self) -> None:
        """Bring what this rank wrote to the device."""
        os.fsync(self.handle)

    def close(self) -> None:
        """Close."""
        os.close(self.handle)

    def tell(self) -> None:
        """Write the trace, where there is one: a record for each pwrite or pread (GPFS-55)."""
        trace = self.deeds.trace
        if trace is not None:
            trace.add_calls(self._loop, self._loop.series.offsets, self.call)
            trace.write()

    @property
    def moved_bytes(self) -> int:
        """Of all calls, after the clock has stopped."""
        return int(self._loop.moved_bytes.sum())

    @property
    def errors(self) -> list[Exception]:
        """What went wrong, with the class that MPI would give it (ERR-05)."""
        met = self.deeds.errors + [OSError(code, os.strerror(code)) for _, code in self._loop.errors]
        name = "open" if self._handle is None else self.call
        return [self._subject.system_error(name, one) if isinstance(one, OSError) else one for one in met]


def require_aligned(name: str, table: Extents, payload: Payload, unit: int) -> None:
    """Explain what O_DIRECT needs; sizes that it cannot do are never silently buffered."""
    for what, values in (
        ("offset", table.offsets),
        ("length", table.lengths),
        ("memory address", payload.positions + payload.data.ctypes.data),
    ):
        odd = values[values % unit != 0]
        if odd.size:
            allowed = f"a multiple of {unit} B for O_DIRECT here; use buffered I/O or other sizes"
            raise ParameterError(f"{name}: {what}", int(odd[0]), allowed)


def _pieces(table: Extents, payload: Payload) -> tuple[Int64, Int64]:
    """Start in the buffer, and length, of every extent; shape (extents,) each."""
    calls = np.repeat(np.arange(table.call_count), np.diff(table.bounds))
    ends = np.concatenate(([0], np.cumsum(table.lengths)))
    # data position of each extent in its call
    within = ends[:-1] - ends[table.bounds[:-1]][calls]
    return payload.positions[calls] + within, table.lengths
