"""The memory side of a data call: buffer, count and datatype, checked before MPI sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_pario import mpi
from pytest_pario.errors import ParameterError

if TYPE_CHECKING:
    from mpi4py import MPI

BufferSpec = Any
"""A buffer, or [buffer, datatype], or [buffer, count], or [buffer, count, datatype], as mpi4py takes them."""

SMALL_COUNT = (1 << 31) - 1
"""Elements that a library before MPI 4 takes in one call; it refuses more on the task alone, and the others wait."""

FORMS = "a buffer, [buffer, datatype], [buffer, count] or [buffer, count, datatype]"


@dataclass(frozen=True)
class Memory:
    """A buffer that is known to be long enough for what is asked of it."""

    buffer: MPI.buffer
    """The bytes; writable if the call reads into them."""

    count: int
    """How many elements of the datatype are moved."""

    datatype: MPI.Datatype
    """Committed."""

    @property
    def asked_bytes(self) -> int:
        """Bytes that the call is to move; gaps of the datatype do not count."""
        return self.count * self.datatype.Get_size()

    @property
    def spec(self) -> list[Any]:
        """The form that mpi4py takes without another look at the buffer's own type."""
        return [self.buffer, self.count, self.datatype]


def resolve(spec: BufferSpec, origin: str, writable: bool) -> Memory:
    """Find buffer, count and datatype, commit the datatype and check that the buffer holds all elements."""
    data, count, datatype = _take_apart(spec, origin)
    buffer = _as_buffer(data, origin, writable)
    datatype = commit(_as_datatype(data, datatype, origin), "datatype", origin)
    if count is None:
        count = _whole_count(buffer.nbytes, datatype.extent, origin)
    count = natural("count", count, origin)
    if count > SMALL_COUNT and mpi.load().Get_version() < (4, 0):
        raise ParameterError("count", count, f"at most {SMALL_COUNT} elements with a library before MPI 4", origin)
    _check_span(buffer.nbytes, count, datatype, origin)
    return Memory(buffer, count, datatype)


def natural(name: str, value: object, origin: str) -> int:
    """Take a count, size or offset that MPI can carry: an integer from 0 to 2^63 - 1."""
    try:
        number = int(value.__index__())  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        number = -1
    if not 0 <= number < 1 << 63:
        raise ParameterError(name, value, "an integer from 0 to 2^63 - 1", origin)
    return number


def commit(datatype: Any, name: str, origin: str) -> MPI.Datatype:
    """Commit a datatype: an uncommitted one on a single task would hang the others (ENV-20)."""
    codes = mpi.load()
    if not isinstance(datatype, codes.Datatype) or datatype == codes.DATATYPE_NULL:
        raise ParameterError(name, datatype, "an MPI datatype", origin)
    try:
        committed: MPI.Datatype = datatype.Commit()
    except codes.Exception as error:
        raise ParameterError(name, datatype, "a datatype that can be committed", origin) from error
    return committed


def _take_apart(spec: BufferSpec, origin: str) -> tuple[Any, Any, Any]:
    if not isinstance(spec, list | tuple):
        return spec, None, None
    match spec:
        case [data, int() as count]:
            return data, count, None
        case [data, datatype]:
            return data, None, datatype
        case [data, count, datatype]:
            return data, count, datatype
    raise ParameterError("buffer", f"{len(spec)} items", FORMS, origin)


def _as_buffer(data: Any, origin: str, writable: bool) -> MPI.buffer:
    allowed = f"a contiguous {'writable ' if writable else ''}buffer"
    try:
        buffer: MPI.buffer = mpi.load().buffer.frombuffer(b"" if data is None else data, readonly=not writable)
    except (TypeError, ValueError, BufferError) as error:
        raise ParameterError("buffer", type(data).__name__, allowed, origin) from error
    return buffer


def _as_datatype(data: Any, datatype: Any, origin: str) -> Any:
    """Take the datatype that was given, else the one of the buffer's elements, else bytes."""
    codes = mpi.load()
    if isinstance(datatype, str):
        try:
            return codes.Datatype.fromcode(datatype)
        except ValueError as error:
            raise ParameterError("datatype", datatype, "an MPI datatype or its code", origin) from error
    if datatype is not None:
        return datatype
    try:
        return codes.Datatype.fromcode(memoryview(data).format)
    except (TypeError, ValueError):
        return codes.BYTE


def _whole_count(length: int, extent: int, origin: str) -> int:
    if extent <= 0 or length % extent:
        raise ParameterError("buffer length", length, f"a whole number of {extent} B elements", origin)
    return length // extent


def _check_span(length: int, count: int, datatype: MPI.Datatype, origin: str) -> None:
    """Refuse elements that begin before or end after the buffer; mpi4py does not look."""
    if count == 0:
        return
    first, true_extent = datatype.Get_true_extent()
    last = first + (count - 1) * datatype.extent
    begin, end = min(first, last), max(first, last) + true_extent
    if begin < 0 or end > length:
        raise ParameterError("buffer length", length, f"{end} B or more for {count} elements starting at 0", origin)
