"""The loop in Python: mpi4py's methods and the `os` module, one call at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pytest_pario import mpi
from pytest_pario.access.loops.protocol import FOREVER, Engine, Integers, Target
from pytest_pario.access.loops.series import Series, large_type, needs_large_type

if TYPE_CHECKING:
    from mpi4py import MPI

Outcome = tuple[int, int]
"""The call after the last one made, and the error code of that last one."""


class PythonMember:
    """Works wherever MPI works."""

    name = "python"

    def unavailable_reason(self, target: Target) -> str | None:
        """Only a missing MPI library is in the way."""
        return mpi.unavailable_reason() if target == "mpi" else None

    def engine(self, series: Series, moved_bytes: Integers, times: Integers | None) -> Engine:
        """Lay out the arguments of all calls, so that the loop does nothing but call."""
        if series.target == "mpi":
            return PythonCalls(series, moved_bytes, times)
        return PythonTransfers(series, moved_bytes, times)


class PythonCalls:
    """Calls of an MPI file by bound method and arguments that are reused."""

    def __init__(self, series: Series, moved_bytes: Integers, times: Integers | None) -> None:
        """Build one status and one tuple of arguments per call."""
        codes = mpi.load()
        self._moved, self._stamps, self._byte = moved_bytes, _stamps(times), codes.BYTE
        self._error: type[Exception] = codes.Exception
        self._method = series.call.method
        self.use(series.file)
        self._statuses: list[MPI.Status] = [codes.Status() for _ in range(len(series))]
        specs = _memory_specs(series)
        if series.call.pointer == "explicit":
            self._arguments: list[tuple[Any, ...]] = list(
                zip(series.offsets.tolist(), specs, self._statuses, strict=True)
            )
        else:
            self._arguments = list(zip(specs, self._statuses, strict=True))

    def use(self, file: Any) -> None:
        """Bind the method to this file."""
        self._function: Callable[..., None] = getattr(file, self._method, _no_file)

    def make(self, first: int, last: int, deadline_ns: int) -> Outcome:
        """Make the calls; an exception of MPI ends this part of the loop."""
        if self._stamps is not None or deadline_ns < FOREVER:
            return self._make_by_the_clock(first, last, deadline_ns)
        function, arguments, call = self._function, self._arguments, first
        try:
            for call in range(first, last):
                function(*arguments[call])
        except self._error as error:
            return call + 1, _code_of(error)
        return last, 0

    def count(self, first: int, reached: int) -> None:
        """Ask each status for its bytes."""
        for call in range(first, reached):
            self._moved[call] = self._statuses[call].Get_elements(self._byte)

    def _make_by_the_clock(self, first: int, last: int, deadline_ns: int) -> Outcome:
        function, arguments, stamps, clock = self._function, self._arguments, self._stamps, time.monotonic_ns
        for call in range(first, last):
            begun, code = clock(), 0
            if begun >= deadline_ns:
                return call, 0
            try:
                function(*arguments[call])
            except self._error as error:
                code = _code_of(error)
            if stamps is not None:
                stamps[2 * call + 1], stamps[2 * call] = clock(), begun
            if code:
                return call + 1, code
        return last, 0


class PythonTransfers:
    """pwrite and pread of a POSIX file; one that moves only a part is continued."""

    def __init__(self, series: Series, moved_bytes: Integers, times: Integers | None) -> None:
        """Cut the buffer into one view per call."""
        self._moved, self._stamps, self._descriptor = moved_bytes, _stamps(times), series.file
        self._writes = series.call.writes
        memory, ends = series.buffer.data, series.starts + series.sizes
        self._pieces = [memory[start:end] for start, end in zip(series.starts.tolist(), ends.tolist(), strict=True)]
        self._offsets: list[int] = series.offsets.tolist()

    def use(self, file: Any) -> None:
        """Move data of this descriptor."""
        self._descriptor = file

    def make(self, first: int, last: int, deadline_ns: int) -> Outcome:
        """Move the pieces; an error of the system ends this part of the loop."""
        stamps, clock = self._stamps, time.monotonic_ns
        watched = stamps is not None or deadline_ns < FOREVER
        for call in range(first, last):
            begun = clock() if watched else 0
            if begun >= deadline_ns:
                return call, 0
            code = self._transfer(call)
            if stamps is not None:
                stamps[2 * call + 1], stamps[2 * call] = clock(), begun
            if code:
                return call + 1, code
        return last, 0

    def count(self, first: int, reached: int) -> None:
        """Nothing to do: every transfer has counted itself."""

    def _transfer(self, call: int) -> int:
        piece, offset, descriptor = self._pieces[call], self._offsets[call], self._descriptor
        done = 0
        try:
            while True:
                if self._writes:
                    moved = os.pwrite(descriptor, piece[done:], offset + done)
                else:
                    moved = os.preadv(descriptor, [piece[done:]], offset + done)
                done += moved
                if moved == 0 or done == len(piece):
                    return 0
        except OSError as error:
            return error.errno or -1
        finally:
            self._moved[call] = done


def _stamps(times: Integers | None) -> memoryview | None:
    """The same numbers one after the other, in a form that Python writes to faster than to an array."""
    return None if times is None else times.reshape(-1).data


def _memory_specs(series: Series) -> list[list[Any]]:
    """The (buffer, count, datatype) of each call; equal ones are one object."""
    known: dict[tuple[int, int], list[Any]] = {}
    pairs = list(zip(series.starts.tolist(), series.counts.tolist(), strict=True))
    for start, count in dict.fromkeys(pairs):
        if series.datatype is not None:
            known[start, count] = [series.buffer[start:], count, series.datatype]
        elif needs_large_type(count):
            known[start, count] = [series.buffer[start : start + count], 1, large_type(count)]
        else:
            known[start, count] = [series.buffer[start : start + count], count, mpi.load().BYTE]
    return [known[pair] for pair in pairs]


def _code_of(error: Any) -> int:
    return int(error.Get_error_code())


def _no_file(*_arguments: object) -> None:
    raise RuntimeError("the loop was not told its file")
