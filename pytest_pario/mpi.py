"""The only module that imports mpi4py; everything below it is free of MPI.

Nothing is imported at load time: `MPI_Init` happens in the first call of `load()`.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import json
import sys
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_pario.errors import RemoteTaskError

if TYPE_CHECKING:
    from mpi4py import MPI

T = TypeVar("T")

REST_S = 0.01
"""Seconds between two looks of a rank that waits for others."""


@functools.cache
def load() -> Any:
    """Import mpi4py (this initialises MPI) and return its `MPI` module."""
    return importlib.import_module("mpi4py.MPI")


@functools.cache
def unavailable_reason() -> str | None:
    """Say in one sentence why MPI cannot be used here, or None where it can."""
    try:
        load()
    except (ImportError, RuntimeError) as error:
        first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return f"mpi4py cannot load an MPI library: {first_line} (install one with pip install 'pytest-pario[mpich]')"
    return None


def library_version() -> str:
    """What the MPI library says of itself first, such as `MPICH Version: 5.0.2` or `Open MPI v5.0.11`."""
    text: str = load().Get_library_version()
    return " ".join(text.strip().strip("\0").splitlines()[0].partition(",")[0].split())


def agree(comm: MPI.Comm, flag: bool, how: Callable[[list[bool]], bool] = any) -> bool:
    """Reduce a boolean over all ranks with `any` or `all`, so that every rank takes the same branch."""
    mpi = load()
    if how not in (any, all):
        raise ValueError("agree() knows any and all")
    return bool(comm.allreduce(bool(flag), op=mpi.LOR if how is any else mpi.LAND))


def on_root(comm: MPI.Comm, action: Callable[[], T]) -> T:
    """Run `action` on rank 0 and give its result to all ranks; its error is raised on every rank."""
    result: tuple[T | None, Exception | None] = (None, None)
    if comm.rank == 0:
        try:
            result = (action(), None)
        except Exception as error:
            result = (None, error)
    value, failure = comm.bcast(result, root=0)
    if failure is not None:
        raise failure
    return value  # type: ignore[no-any-return]


def together(comm: MPI.Comm, name: str, action: Callable[[], T]) -> T:
    """Do something on every rank; where it fails on one, all leave: it with its error, the others told of it."""
    result: T | None = None
    failure: Exception | None = None
    try:
        result = action()
    except Exception as error:
        failure = error
    failed = [rank for rank, bad in enumerate(comm.allgather(failure is not None)) if bad]
    if failure is not None:
        raise failure
    if failed:
        raise RemoteTaskError(name, failed)
    return result  # type: ignore[return-value]


def among(comm: MPI.Comm, team: MPI.Intracomm | None, name: str, action: Callable[[MPI.Intracomm], T]) -> T:
    """Do something on the first ranks, which have a communicator of theirs; the others sleep, and get its result."""
    result: T | None = None
    failure: Exception | None = None
    if team is not None:
        try:
            result = action(team)
        except Exception as error:
            failure = error
    ended = comm.Ibarrier()
    while not ended.Test():
        # a rank that waits inside MPI would take a core from those that are measured
        time.sleep(REST_S)
    failed = [rank for rank, bad in enumerate(comm.allgather(failure is not None)) if bad]
    if failure is not None:
        raise failure
    if failed:
        raise RemoteTaskError(name, failed)
    return comm.bcast(result, root=0)  # type: ignore[no-any-return]


def run_rank(action: Callable[[MPI.Intracomm], object]) -> None:
    """Be one rank of a job of our own: root prints the result as a line of JSON; one that fails ends all."""
    comm = load().COMM_WORLD
    try:
        result = action(comm)
    except BaseException:
        # the other ranks are waiting
        traceback.print_exc()
        comm.Abort(1)
        raise
    if comm.rank == 0:
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


def abort(status: int) -> None:
    """End all ranks of this job with one status, from a thread whose main thread may be stuck inside MPI.

    Return where MPI is not up, or takes calls from one thread only.
    """
    mpi = load()
    if not mpi.Is_finalized() and mpi.Query_thread() == mpi.THREAD_MULTIPLE:
        mpi.COMM_WORLD.Abort(status)


def handle_value(handle: Any) -> int:
    """The C handle of an MPI object as a signed integer that fills a register: an int in MPICH, else a pointer."""
    mpi = load()
    bits = 8 * int(mpi._sizeof(handle))
    value = int(mpi._handleof(handle)) & ((1 << bits) - 1)
    # an int argument travels sign-extended; no pointer of a process has the upper bit set
    return value - (1 << bits) if value >> (bits - 1) else value


def status_bytes() -> int:
    """Bytes of the library's `MPI_Status`."""
    return int(load()._sizeof(load().Status))


def function_address(name: str) -> int | None:
    """Where a C function of the library in use begins; None where the library does not have it.

    The search goes the way of the dynamic linker, so that what is put before the library (a profiler) is found first.
    """
    for library in (None, load().__file__):
        function = getattr(ctypes.CDLL(library), name, None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value
    return None
