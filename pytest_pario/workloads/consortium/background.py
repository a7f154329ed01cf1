"""I/O that goes on beside a measurement: bounded in bytes and time, verified, ended by the one that measures."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_pario.errors import ShortTransferError, VerificationError
from pytest_pario.patterns.stream import make_stream
from pytest_pario.units import GiB, MiB

if TYPE_CHECKING:
    from mpi4py import MPI

PIECE = MiB
IDLE_S = 0.002
"""How often a process whose bounds are reached looks whether all is over."""


@dataclass(frozen=True)
class Bounds:
    """How much a background process does at most; the file is written and read again and again."""

    file_bytes: int = 8 * MiB
    moved_bytes: int = 4 * GiB
    seconds: float = 60.0


@dataclass(frozen=True)
class Done:
    """What a background process did."""

    moved_bytes: int
    seconds: float
    ended_early: bool = False
    """Whether its bounds were reached before the measurement was over."""


def disturb(end: Any, path: Path, writer: int, bounds: Bounds) -> Done:
    """Write and read a file until the request `end` is complete or the bounds are reached; then wait for `end`.

    `end` is completed also if the I/O fails, and only then is the error raised: nobody is left waiting.
    """
    begun, moved = time.monotonic(), 0
    failure: Exception | None = None
    try:
        with _Scribble(path, writer, bounds.file_bytes) as scribble:
            while moved < bounds.moved_bytes and time.monotonic() - begun < bounds.seconds and not end.Test():
                moved += scribble.step()
    except Exception as error:
        failure = error
    elapsed_s = time.monotonic() - begun
    ended_early = not end.Test()
    while not end.Test():
        time.sleep(IDLE_S)
    if failure is not None:
        raise failure
    return Done(moved, elapsed_s, ended_early)


def announce(comm: MPI.Comm) -> Any:
    """The request that completes once every process has announced that it is done, or ready to be told so."""
    return comm.Ibarrier()


class _Scribble:
    """One file that is written piece by piece from the beginning to the end, and then read and verified likewise."""

    def __init__(self, path: Path, writer: int, size: int) -> None:
        self._path, self._writer, self._size = path, writer, max(size // PIECE, 1) * PIECE
        self._buffer = np.empty(PIECE, dtype=np.uint8)
        self._offset, self._generation, self._reading = 0, 0, False

    def __enter__(self) -> _Scribble:
        self._handle = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o644)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)
        self._path.unlink(missing_ok=True)

    def step(self) -> int:
        """Move one piece; the bytes moved."""
        stream = make_stream(0, self._writer, self._generation % 2)
        if self._reading:
            moved = os.preadv(self._handle, [self._buffer.data], self._offset)
            bad = stream.count_differences(self._buffer[:moved], self._offset)
            if bad:
                raise VerificationError("background", f"{self._path}: {bad} wrong bytes from offset {self._offset} on")
        else:
            stream.fill(self._buffer, self._offset)
            moved = os.pwrite(self._handle, self._buffer.data, self._offset)
        if moved != PIECE:
            raise ShortTransferError("read" if self._reading else "write", self._offset, PIECE, moved)
        self._advance()
        return moved

    def _advance(self) -> None:
        self._offset += PIECE
        if self._offset >= self._size:
            self._offset = 0
            if not self._reading:
                # so that the filesystem, not only this host's memory, is busy
                os.fdatasync(self._handle)
            self._generation += self._reading
            self._reading = not self._reading
