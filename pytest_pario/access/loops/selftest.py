"""A trial of a loop on a small file of this task alone; it decides whether the loop may be used."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pytest_pario import mpi
from pytest_pario.access.calls import find_call
from pytest_pario.access.loops.protocol import Member, Target
from pytest_pario.access.loops.runner import Loop
from pytest_pario.access.loops.series import mpi_series, posix_series

SIZES = [5, 3, 0, 8]
OFFSETS = [11, 0, 4, 3]
"""The pieces cover bytes 0 to 15 of the file and leave the order of the buffer."""
LENGTH = 16


def failed_reason(member: Member, target: Target) -> str | None:
    """Write and read a few pieces both ways; say in one sentence what went wrong, or None."""
    try:
        with tempfile.TemporaryDirectory(prefix="pario-loop-") as directory:
            problem = _try_calls(member, target, Path(directory) / "trial")
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return None if problem is None else f"the trial of the {member.name} loop failed: {problem}"


def _try_calls(member: Member, target: Target, path: Path) -> str | None:
    written = np.arange(1, LENGTH + 1, dtype=np.uint8)
    starts = np.cumsum([0, *SIZES[:-1]])
    wanted = np.zeros(LENGTH, dtype=np.uint8)
    for start, size, offset in zip(starts, SIZES, OFFSETS, strict=True):
        wanted[offset : offset + size] = written[start : start + size]
    with _open(path, target) as file:
        make_series: Any = mpi_series if target == "mpi" else posix_series
        out = Loop(make_series(file, find_call("write_at"), written, starts, SIZES, offsets=OFFSETS), member)
        out.run()
        if path.read_bytes() != wanted.tobytes() or out.moved_bytes.tolist() != SIZES or out.errors:
            return f"wrote {out.moved_bytes.tolist()} B of {SIZES}, errors {out.errors}, or other bytes than asked"
        # the last of these reads begins inside the file and ends outside
        read = np.zeros(2 * LENGTH, dtype=np.uint8)
        pieces = make_series(file, find_call("read_at"), read, [0, 8], [8, LENGTH], offsets=[0, 8])
        back = Loop(pieces, member, timed=True)
        back.run()
        if read[:LENGTH].tobytes() != wanted.tobytes() or back.moved_bytes.tolist() != [8, 8] or back.errors:
            return f"read {back.moved_bytes.tolist()} B of [8, 8], errors {back.errors}, or other bytes than written"
    return None


@contextlib.contextmanager
def _open(path: Path, target: Target) -> Iterator[Any]:
    if target == "posix":
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            yield descriptor
        finally:
            os.close(descriptor)
        return
    codes = mpi.load()
    handle = codes.File.Open(codes.COMM_SELF, str(path), codes.MODE_CREATE | codes.MODE_RDWR)
    try:
        yield handle
    finally:
        handle.Close()
