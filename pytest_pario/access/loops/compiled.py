"""The compiled loop: numba code that calls the MPI library's or the C library's own functions by address.

It takes no more CPU time per call than a loop in C, and the interpreter's lock is released once for all calls.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from pytest_pario import mpi
from pytest_pario.access.loops.compiling import compiled, numba_missing_reason
from pytest_pario.access.loops.protocol import Engine, Integers, Target
from pytest_pario.access.loops.selftest import failed_reason
from pytest_pario.access.loops.series import Series, has_large_counts, large_type, needs_large_type
from pytest_pario.access.memory import SMALL_COUNT
from pytest_pario.errors import ParameterError

SCRATCH_BYTES = 256
"""Room after the last status, should the library's be longer than mpi4py says."""


class CompiledMember:
    """Works where numba is installed and a trial of the library's functions came out right."""

    name = "compiled"

    def unavailable_reason(self, target: Target) -> str | None:
        """Try it on a small file the first time it is asked."""
        return _unavailable_reason(target)

    def engine(self, series: Series, moved_bytes: Integers, times: Integers | None) -> Engine:
        """Find the functions and compile the kernels."""
        wanted = np.empty((0, 2), dtype=np.int64) if times is None else times
        if series.target == "mpi":
            return CompiledCalls(series, moved_bytes, wanted)
        return CompiledTransfers(series, moved_bytes, wanted)


@functools.cache
def _unavailable_reason(target: Target) -> str | None:
    missing = mpi.unavailable_reason() if target == "mpi" else None
    return missing or numba_missing_reason() or failed_reason(CompiledMember(), target)


class CompiledCalls:
    """Calls of an MPI file; the statuses are read when the clock has stopped."""

    def __init__(self, series: Series, moved_bytes: Integers, times: Integers) -> None:
        """Write the arguments of all calls into one table."""
        self._series, self._moved, self._times = series, moved_bytes, times
        self._table = _table(series)
        self._is_explicit = series.call.pointer == "explicit"
        self._function = _mpi_function(_function_name(series))
        self._get_elements = _mpi_function("MPI_Get_elements_c", "MPI_Get_elements_x")
        self._byte, self._file = mpi.handle_value(mpi.load().BYTE), 0
        self.use(series.file)
        self._status_bytes = -(-mpi.status_bytes() // 8) * 8
        self._statuses = np.full(len(series) * self._status_bytes + SCRATCH_BYTES, 0, dtype=np.uint8)
        self._first_status = self._statuses.ctypes.data
        self._clock, self._moment = _c_function("clock_gettime"), np.zeros(2, dtype=np.int64)
        self._make, self._count = compiled("make_calls"), compiled("count_bytes")

    def use(self, file: Any) -> None:
        """Keep the value of the handle, and the handle itself alive."""
        self._series = self._series.on(file)
        self._file = 0 if file is None else mpi.handle_value(file)

    def make(self, first: int, last: int, deadline_ns: int) -> tuple[int, int]:
        """Make the calls; an error code ends this part of the loop."""
        return self._make(  # type: ignore[no-any-return]
            self._function,
            self._is_explicit,
            self._file,
            self._table,
            first,
            last,
            self._first_status,
            self._status_bytes,
            self._clock,
            self._moment,
            self._times,
            deadline_ns,
        )

    def count(self, first: int, reached: int) -> None:
        """Ask the library for the bytes of each status."""
        self._count(self._get_elements, self._first_status, self._status_bytes, self._byte, first, reached, self._moved)


class CompiledTransfers:
    """pwrite and pread of a POSIX file; one that moves only a part is continued."""

    def __init__(self, series: Series, moved_bytes: Integers, times: Integers) -> None:
        """Write the arguments of all calls into one table."""
        self._moved, self._times, self._descriptor = moved_bytes, times, series.file
        self._series, self._table = series, _table(series)
        self._function = _c_function(*(("pwrite64", "pwrite") if series.call.writes else ("pread64", "pread")))
        self._errno = _c_function("__errno_location")
        self._clock, self._moment = _c_function("clock_gettime"), np.zeros(2, dtype=np.int64)
        self._make = compiled("make_transfers")

    def use(self, file: Any) -> None:
        """Move data of this descriptor."""
        self._descriptor = file

    def make(self, first: int, last: int, deadline_ns: int) -> tuple[int, int]:
        """Move the pieces; an error of the system ends this part of the loop."""
        return self._make(  # type: ignore[no-any-return]
            self._function,
            self._descriptor,
            self._table,
            first,
            last,
            self._errno,
            self._moved,
            self._clock,
            self._moment,
            self._times,
            deadline_ns,
        )

    def count(self, first: int, reached: int) -> None:
        """Nothing to do: every transfer has counted itself."""


def _table(series: Series) -> Integers:
    """Offset, address, count and datatype of each call, side by side in memory."""
    table = np.zeros((len(series), 4), dtype=np.int64)
    table[:, 0], table[:, 1] = series.offsets, series.starts + series.buffer.ctypes.data
    table[:, 2] = series.counts
    if series.target == "mpi":
        table[:, 3] = mpi.handle_value(series.datatype or mpi.load().BYTE)
        if series.datatype is None:
            _replace_large_counts(table)
    return table


def _replace_large_counts(table: Integers) -> None:
    """Give a call whose bytes cannot be counted by the library one large element instead."""
    for call in np.flatnonzero(table[:, 2] > SMALL_COUNT).tolist():
        size = int(table[call, 2])
        if needs_large_type(size):
            table[call, 2:] = 1, mpi.handle_value(large_type(size))


def _function_name(series: Series) -> str:
    """`MPI_File_write_at`, or the one with large counts where a call needs it and the library has it."""
    name = f"MPI_File_{series.call.name}"
    is_large = len(series) > 0 and int(series.counts.max()) > SMALL_COUNT
    return f"{name}_c" if is_large and has_large_counts() else name


def _mpi_function(*names: str) -> int:
    for name in names:
        address = mpi.function_address(name)
        if address is not None:
            return address
    raise ParameterError("loop", "compiled", f"python: the MPI library has no {names[0]}", "MPI library")


def _c_function(*names: str) -> int:
    library = ctypes.CDLL(None)
    for name in names:
        if hasattr(library, name):
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    raise ParameterError("loop", "compiled", f"python: the C library has no {names[0]}", "C library")
