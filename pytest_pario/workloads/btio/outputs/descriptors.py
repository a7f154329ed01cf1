"""Files opened by every rank for itself, without MPI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_pario.errors import FileAccessError
from pytest_pario.workloads.btio.outputs.protocol import Output

if TYPE_CHECKING:
    from mpi4py import MPI

LARGEST_CALL = 0x7FFFF000
"""Bytes that Linux moves in one call."""
MOST_PIECES = 64
"""Pieces of memory given to one call; the system takes 1024."""


def open_together(comm: MPI.Intracomm, path: Path, writes: bool, is_keeper: bool) -> int:
    """Open on every rank, the keeper first; an error on one is an error on all."""
    flags = os.O_RDWR | os.O_CREAT if writes else os.O_RDONLY
    descriptor, problem = -1, None
    for turn in (True, False):
        if is_keeper == turn:
            try:
                descriptor = os.open(path, flags, 0o644)
            except OSError as error:
                problem = f"rank {comm.rank}: {path}: {error.strerror}"
        told = [one for one in comm.allgather(problem) if one]
        if told:
            if descriptor >= 0:
                os.close(descriptor)
            raise FileAccessError("open", str(path), "ERR_ACCESS", told[0], comm.rank)
    return descriptor


def close(output: Output, descriptor: int) -> None:
    """Close; an error is noted."""
    try:
        os.close(descriptor)
    except OSError as error:
        output.note(error)


def move_all(descriptor: int, pieces: list[Any], place: int, writes: bool) -> int:
    """Write or read pieces of memory that follow each other in the file; a part is continued."""
    moved, left = 0, [memoryview(piece).cast("B") for piece in pieces]
    while left:
        some, size = [], 0
        for piece in left[:MOST_PIECES]:
            some.append(piece[: LARGEST_CALL - size])
            size += len(some[-1])
            if size == LARGEST_CALL:
                break
        done = os.pwritev(descriptor, some, place + moved) if writes else os.preadv(descriptor, some, place + moved)
        if done == 0:
            break
        moved += done
        while left and done >= len(left[0]):
            done -= len(left.pop(0))
        if left and done:
            left[0] = left[0][done:]
    return moved
