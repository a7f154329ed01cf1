"""The loops that numba compiles: calls of C functions by their addresses, without Python in between.

Importing this module imports numba. Every argument of a C function is passed as 64 bits: each travels in a register
of its own, of which a function that takes an int uses the lower half. So no header of the MPI library is needed.
"""

from __future__ import annotations

import errno
import importlib
from collections.abc import Callable
from typing import Any

from pytest_pario.access.loops.protocol import FOREVER, Integers

numba: Any = importlib.import_module("numba")
extending: Any = importlib.import_module("numba.extending")
cgutils: Any = importlib.import_module("numba.core.cgutils")
ir: Any = importlib.import_module("llvmlite.ir")

CLOCK_MONOTONIC = 1
EINTR = errno.EINTR
SECOND_NS = 1_000_000_000


def _caller(returned: Any) -> Any:
    """An operation `call(address, (arguments …))` on the C function at an address that returns this type."""

    def resolve(_context: Any, address: Any, arguments: Any) -> tuple[Any, Callable[..., Any]]:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            kinds = [context.get_value_type(kind) for kind in signature.args[1].types]
            function = ir.FunctionType(context.get_value_type(returned), kinds)
            pointer = builder.inttoptr(values[0], function.as_pointer())
            return builder.call(pointer, cgutils.unpack_tuple(builder, values[1], len(kinds)))

        return returned(address, arguments), generate

    return extending.intrinsic(resolve)


call_int = _caller(numba.types.int32)
call_long = _caller(numba.types.int64)


def _resolve_read(_context: Any, address: Any) -> tuple[Any, Callable[..., Any]]:
    """The operation `read_int(address)`: the C int that stands there."""

    def generate(_: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return builder.load(builder.inttoptr(values[0], ir.IntType(32).as_pointer()))

    return numba.types.int32(address), generate


read_int: Any = extending.intrinsic(_resolve_read)


def _nanoseconds(clock: int, moment: Integers) -> int:
    """Time of the monotonic clock; `clock` is the address of clock_gettime, `moment` two numbers of scratch."""
    call_int(clock, (CLOCK_MONOTONIC, moment.ctypes.data))
    return moment[0] * SECOND_NS + moment[1]  # type: ignore[no-any-return]


extending.register_jitable(_nanoseconds)


def make_calls(  # noqa: PLR0917 - compiled code takes no keywords
    function: int,
    is_explicit: bool,
    file: int,
    table: Integers,
    first: int,
    last: int,
    statuses: int,
    status_bytes: int,
    clock: int,
    moment: Integers,
    times: Integers,
    deadline_ns: int,
) -> tuple[int, int]:
    """Make calls of an MPI file; each row of the table is (offset, address, count, datatype).

    Return the call after the last one made and the error code of that last one. `times` is (calls, 2), or (0, 2)
    where no times are wanted.
    """
    timed, limited = times.shape[0] > 0, deadline_ns < FOREVER
    for call in range(first, last):
        if timed or limited:
            now = _nanoseconds(clock, moment)
            if now >= deadline_ns:
                return call, 0
            if timed:
                times[call, 0] = now
        offset, address, count, datatype = table[call, 0], table[call, 1], table[call, 2], table[call, 3]
        status = statuses + call * status_bytes
        if is_explicit:
            code = call_int(function, (file, offset, address, count, datatype, status))
        else:
            code = call_int(function, (file, address, count, datatype, status))
        if timed:
            times[call, 1] = _nanoseconds(clock, moment)
        if code != 0:
            return call + 1, code
    return last, 0


def count_bytes(  # noqa: PLR0917 - compiled code takes no keywords
    get_elements: int, statuses: int, status_bytes: int, byte: int, first: int, last: int, moved: Integers
) -> None:
    """Read the bytes of each status with MPI_Get_elements_c or MPI_Get_elements_x."""
    for call in range(first, last):
        call_int(get_elements, (statuses + call * status_bytes, byte, moved.ctypes.data + 8 * call))


def make_transfers(  # noqa: PLR0917 - compiled code takes no keywords
    function: int,
    descriptor: int,
    table: Integers,
    first: int,
    last: int,
    errno_location: int,
    moved: Integers,
    clock: int,
    moment: Integers,
    times: Integers,
    deadline_ns: int,
) -> tuple[int, int]:
    """Call pwrite or pread; each row of the table is (offset, address, size, 0); a part is continued."""
    timed, limited = times.shape[0] > 0, deadline_ns < FOREVER
    for call in range(first, last):
        if timed or limited:
            now = _nanoseconds(clock, moment)
            if now >= deadline_ns:
                return call, 0
            if timed:
                times[call, 0] = now
        offset, address, size = table[call, 0], table[call, 1], table[call, 2]
        done, code = 0, 0
        while True:
            part = call_long(function, (descriptor, address + done, size - done, offset + done))
            if part < 0:
                code = read_int(call_long(errno_location, ()))
                if code == EINTR:
                    code = 0
                    continue
                break
            done += part
            if part == 0 or done == size:
                break
        moved[call] = done
        if timed:
            times[call, 1] = _nanoseconds(clock, moment)
        if code != 0:
            return call + 1, code
    return last, 0


def _signatures() -> dict[str, Any]:
    kinds = numba.types
    number, flag, numbers, rows = kinds.int64, kinds.boolean, kinds.int64[::1], kinds.int64[:, ::1]
    outcome = kinds.UniTuple(number, 2)
    return {
        "make_calls": outcome(
            number, flag, number, rows, number, number, number, number, number, numbers, rows, number
        ),
        "count_bytes": kinds.void(number, number, number, number, number, number, numbers),
        "make_transfers": outcome(number, number, rows, number, number, number, numbers, number, numbers, rows, number),
    }


SIGNATURES = _signatures()
"""The one signature of each kernel: with a single one the cache cannot mix them up."""
