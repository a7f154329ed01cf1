"""What a loop is to do, laid out and checked before the clock starts.

Neither mpi4py nor C looks whether a call stays inside its buffer, so that is done here, once for all calls.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pytest_pario import mpi
from pytest_pario.access.calls import DataCall
from pytest_pario.access.loops.protocol import Integers, Target
from pytest_pario.access.memory import SMALL_COUNT, commit, natural
from pytest_pario.errors import ParameterError

if TYPE_CHECKING:
    from mpi4py import MPI

END_OF_FILE = (1 << 63) - 1
"""The last byte that an offset can name."""

BIG_PIECE = 1 << 30


@dataclass(frozen=True, eq=False)
class Series:
    """Many calls of one kind on one file; all arrays have one entry per call."""

    target: Target
    call: DataCall

    file: Any
    """An `MPI.File`, or the number of a POSIX file descriptor; None where the file is opened later."""

    buffer: npt.NDArray[np.uint8]
    """The memory of all calls; held here for as long as a loop may use it."""

    starts: Integers
    """Where in the buffer each call begins."""

    counts: Integers
    """Elements of the datatype that each call moves; bytes where there is no datatype."""

    sizes: Integers
    """Bytes that each call is to move."""

    offsets: Integers
    """Where in the file: etypes of the view for MPI, bytes for POSIX; all zero where a pointer says it."""

    datatype: MPI.Datatype | None
    """Committed memory datatype with gaps; None for contiguous bytes."""

    def __len__(self) -> int:
        """Number of calls."""
        return len(self.starts)

    @property
    def asked_bytes(self) -> int:
        """Bytes that all calls together are to move."""
        return int(self.sizes.sum())

    def on(self, file: Any) -> Series:
        """The same calls on another file, such as one that has been opened since."""
        return dataclasses.replace(self, file=file)

    def check_open(self) -> None:
        """Refuse a file that was closed since; C would follow its dead handle."""
        if self.file is None or (self.target == "mpi" and self.file == mpi.load().FILE_NULL):
            raise ParameterError("file", "a closed file", "an open MPI file", self.call.name)


def mpi_series(
    file: MPI.File | None,
    call: DataCall,
    buffer: npt.NDArray[np.uint8],
    starts: npt.ArrayLike,
    sizes: npt.ArrayLike,
    *,
    offsets: npt.ArrayLike | None = None,
    etype_bytes: int = 1,
) -> Series:
    """Lay out calls of an MPI file on contiguous memory; offsets count etypes and belong to explicit calls only."""
    places, lengths = _integers("starts", starts, call), _integers("sizes", sizes, call)
    series = Series(
        "mpi", call, file, buffer, places, lengths, lengths, _offsets(offsets, len(places), call), datatype=None
    )
    _check_file(file, call)
    _check_memory(series, 0, lengths)
    _check_extents(series, etype_bytes)
    return series


def gapped_series(
    file: MPI.File | None,
    call: DataCall,
    buffer: npt.NDArray[np.uint8],
    starts: npt.ArrayLike,
    counts: npt.ArrayLike,
    *,
    datatype: MPI.Datatype,
    offsets: npt.ArrayLike | None = None,
    etype_bytes: int = 1,
) -> Series:
    """Lay out calls of an MPI file whose memory has gaps: so many elements of one datatype per call."""
    committed = commit(datatype, "datatype", call.name)
    places, elements = _integers("starts", starts, call), _integers("counts", counts, call)
    if elements.size and int(elements.max()) > SMALL_COUNT:
        raise ParameterError("counts", int(elements.max()), f"at most {SMALL_COUNT} elements of a datatype", call.name)
    sizes = elements * committed.Get_size()
    series = Series(
        "mpi", call, file, buffer, places, elements, sizes, _offsets(offsets, len(places), call), datatype=committed
    )
    _check_file(file, call)
    # elements k = 0 … count-1 cover bytes first + k * extent … + true_extent; an extent may be negative
    first, true_extent = committed.Get_true_extent()
    reach = np.where(elements > 0, (elements - 1) * committed.extent, 0)
    _check_memory(series, first + np.minimum(reach, 0), np.where(elements > 0, abs(reach) + true_extent, 0))
    _check_extents(series, etype_bytes)
    return series


def posix_series(
    descriptor: int | None,
    call: DataCall,
    buffer: npt.NDArray[np.uint8],
    starts: npt.ArrayLike,
    sizes: npt.ArrayLike,
    *,
    offsets: npt.ArrayLike,
) -> Series:
    """Lay out pwrite or pread calls at absolute bytes of a file (MODEL-09); the call is `write_at` or `read_at`."""
    if call.collective or call.pointer != "explicit":
        raise ParameterError("call", call.name, "write_at or read_at for a POSIX file", "posix_series")
    places, lengths = _integers("starts", starts, call), _integers("sizes", sizes, call)
    number = None if descriptor is None else natural("descriptor", descriptor, call.name)
    series = Series(
        "posix", call, number, buffer, places, lengths, lengths, _offsets(offsets, len(places), call), datatype=None
    )
    _check_memory(series, 0, lengths)
    _check_extents(series, etype_bytes=1)
    return series


@functools.cache
def large_type(size: int) -> MPI.Datatype:
    """One element of so many bytes, for a library whose counts end at 2^31 - 1; lives as long as the process."""
    byte = mpi.load().BYTE
    pieces, rest = divmod(size, BIG_PIECE)
    piece = byte.Create_contiguous(BIG_PIECE)
    whole: MPI.Datatype = mpi.load().Datatype.Create_struct([pieces, rest], [0, pieces * BIG_PIECE], [piece, byte])
    piece.Free()
    return whole.Commit()


@functools.cache
def has_large_counts() -> bool:
    """Whether the library's functions take counts beyond 2^31 - 1."""
    return mpi.load().Get_version() >= (4, 0) and mpi.function_address("MPI_File_write_at_c") is not None


def needs_large_type(size: int) -> bool:
    """Whether a count of bytes is beyond this library."""
    return size > SMALL_COUNT and not has_large_counts()


# The checks.


def _integers(name: str, given: npt.ArrayLike, call: DataCall) -> Integers:
    array = np.asarray(given)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ParameterError(name, f"{array.dtype} of {array.ndim} dimensions", "a list of integers", call.name)
    if array.size and (int(array.min()) < 0 or int(array.max()) > END_OF_FILE):
        worst = int(array.min()) if int(array.min()) < 0 else int(array.max())
        raise ParameterError(name, worst, "integers from 0 to 2^63 - 1", call.name)
    return np.ascontiguousarray(array, dtype=np.int64)


def _offsets(given: npt.ArrayLike | None, count: int, call: DataCall) -> Integers:
    if call.pointer != "explicit":
        if given is not None:
            raise ParameterError("offsets", "an array", "absent: the call uses a file pointer", call.name)
        return np.zeros(count, dtype=np.int64)
    if given is None:
        raise ParameterError("offsets", None, "one offset per call", call.name)
    return _integers("offsets", given, call)


def _check_file(file: Any, call: DataCall) -> None:
    if file is not None and (not isinstance(file, mpi.load().File) or file == mpi.load().FILE_NULL):
        raise ParameterError("file", type(file).__name__, "an open MPI file", call.name)


def _check_memory(series: Series, before: int | Integers, span: Integers) -> None:
    """Refuse calls that begin before or end after the buffer: bytes start + before … + span of it are touched."""
    buffer, origin = series.buffer, series.call.name
    if not isinstance(buffer, np.ndarray) or buffer.dtype != np.uint8 or buffer.ndim != 1:
        raise ParameterError("buffer", type(buffer).__name__, "a numpy array of uint8 with one dimension", origin)
    if not buffer.flags.c_contiguous or not (series.call.writes or buffer.flags.writeable):
        raise ParameterError("buffer", "a view with gaps or without leave to write", "contiguous and writable", origin)
    for name, array in (("sizes", series.counts), ("offsets", series.offsets)):
        if len(array) != len(series):
            raise ParameterError(name, f"{len(array)} entries", f"{len(series)}, as many as starts", origin)
    begin = series.starts + before
    # written so that no sum can overflow
    outside = np.flatnonzero((begin < 0) | (series.starts > buffer.size) | (span > buffer.size - begin))
    if outside.size:
        call = int(outside[0])
        touched = f"bytes {int(begin[call])} + {int(span[call])} (call {call})"
        raise ParameterError("starts", touched, f"inside the buffer of {buffer.size} B", origin)


def _check_extents(series: Series, etype_bytes: int) -> None:
    """Refuse calls that are no whole number of etypes or end beyond the last byte that a file can have."""
    unit, origin = natural("etype_bytes", etype_bytes, series.call.name), series.call.name
    if unit == 0:
        raise ParameterError("etype_bytes", unit, "at least 1", origin)
    broken = np.flatnonzero(series.sizes % unit)
    if broken.size:
        size = f"{int(series.sizes[broken[0]])} B (call {int(broken[0])})"
        raise ParameterError("sizes", size, f"a whole number of {unit} B etypes", origin)
    beyond = np.flatnonzero(series.offsets > (END_OF_FILE - series.sizes) // unit)
    if beyond.size:
        offset = f"{int(series.offsets[beyond[0]])} (call {int(beyond[0])})"
        raise ParameterError("offsets", offset, "low enough for the call to end before 2^63", origin)
