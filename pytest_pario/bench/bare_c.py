"""The least that a loop in C can be, compiled on the spot: what our loops are measured against."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pytest_pario import mpi
from pytest_pario.errors import SessionError

COMPILERS = ("cc", "gcc", "clang")
LIMIT_S = 60.0

# Handles come as integers that fill a register, as in the compiled loop, so that mpi.h is not needed.
SOURCE = """
#include <stdint.h>

typedef int (*call_at)(intptr_t file, int64_t offset, void *buffer, int count, intptr_t datatype, void *status);

int bare_loop(call_at call, intptr_t file, int64_t first, void *buffer, int count, intptr_t datatype, int64_t calls)
{
    _Alignas(16) char status[256];
    for (int64_t number = 0; number < calls; number++) {
        int code = call(file, first + number * count, buffer, count, datatype, status);
        if (code)
            return code;
    }
    return 0;
}
"""


def build_bare_loop(directory: Path) -> tuple[Path | None, str]:
    """Compile the loop into a directory; return its file, or None, and the command or the reason."""
    compiler = os.environ.get("CC") or next((name for name in COMPILERS if shutil.which(name)), None)
    if compiler is None:
        return None, f"no C compiler ({', '.join(COMPILERS)}) found; name one with CC"
    source, library = directory / "bare_loop.c", directory / "bare_loop.so"
    source.write_text(SOURCE)
    command = [*shlex.split(compiler), "-O2", "-shared", "-fPIC"]
    try:
        done = subprocess.run(
            [*command, "-o", str(library), str(source)], capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"{compiler}: {error}"
    if done.returncode:
        return None, f"{compiler} failed: {(done.stderr.strip().splitlines() or ['no message'])[0]}"
    return library, " ".join(command)


def bind_bare_loop(
    library: str, file: object, call: str, buffer: npt.NDArray[np.uint8], *, first: int, calls: int
) -> Callable[[], None]:
    """One pass of the C loop over an open MPI file: so many calls of the buffer's length from offset `first` on."""
    function = ctypes.CDLL(library).bare_loop
    address = mpi.function_address(f"MPI_File_{call}")
    if address is None:
        raise SessionError(f"the MPI library has no MPI_File_{call}")
    arguments = (
        ctypes.c_void_p(address),
        ctypes.c_ssize_t(mpi.handle_value(file)),
        ctypes.c_int64(first),
        ctypes.c_void_p(buffer.ctypes.data),
        ctypes.c_int(buffer.size),
        ctypes.c_ssize_t(mpi.handle_value(mpi.load().BYTE)),
        ctypes.c_int64(calls),
    )

    def run() -> None:
        code = function(*arguments)
        if code:
            raise SessionError(f"the C loop over {call} ended with MPI error code {code}")

    return run
