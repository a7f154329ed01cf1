"""What each rank of `pario bench loop` does: the same calls through each loop in turn, by CPU time."""

from __future__ import annotations

import contextlib
import json
import mmap
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pytest_pario import mpi
from pytest_pario.access.calls import find_call
from pytest_pario.access.loops import LOOPS, Loop, find_loop, mpi_series
from pytest_pario.bench.bare_c import bind_bare_loop
from pytest_pario.errors import SessionError

if TYPE_CHECKING:
    from mpi4py import MPI

CALL_NAMES = ("write_at", "read_at")
C_SIDE = "C"


@dataclass(frozen=True)
class Settings:
    """What a job is to measure; crosses to the ranks as JSON."""

    directories: list[str]
    """Scratch directories; whoever made them removes them."""
    sizes: list[int]
    """Bytes per call."""
    window_bytes: int
    """Part of the file that each rank writes and reads over and over."""
    repeat: int
    limit_s: float
    """No repetition but the first begins after so long."""
    c_library: str | None


@dataclass
class Cell:
    """One directory, transfer size and call, with one way to make the calls per side."""

    directory: str
    size: int
    call: str
    calls: int
    passes: dict[str, Callable[[], object]]
    cpu_ns: dict[str, list[float]] = field(default_factory=dict)
    """CPU time per call, a value per repetition, for each side."""


def run_rank(comm: MPI.Intracomm, settings: Settings) -> dict[str, Any]:
    """Measure all cells; what comes back is equal on all ranks."""
    begun = time.monotonic()
    with contextlib.ExitStack() as stack:
        cells = [cell for name in settings.directories for cell in _cells(stack, comm, settings, name)]
        for number in range(settings.repeat):
            if number and comm.bcast(time.monotonic() - begun > settings.limit_s):
                break
            for cell in cells:
                _measure(comm, cell, number)
    facts = [
        {"directory": cell.directory, "size": cell.size, "call": cell.call, "cpu_ns": cell.cpu_ns} for cell in cells
    ]
    return {"library": mpi.library_version(), "missing": _missing(), "cells": facts}


def _missing() -> dict[str, str]:
    reasons = {name: member.unavailable_reason("mpi") for name, member in LOOPS.items()}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _measure(comm: MPI.Intracomm, cell: Cell, number: int) -> None:
    """Each side makes one pass after the other; the ranks begin together and their CPU times are averaged.

    Who begins finds the caches full of another cell, so that each side begins in its turn.
    """
    sides = list(cell.passes)
    turn = number % len(sides)
    for side in sides[turn:] + sides[:turn]:
        comm.Barrier()
        before = time.process_time_ns()
        cell.passes[side]()
        spent = time.process_time_ns() - before
        cell.cpu_ns.setdefault(side, []).append(comm.allreduce(spent) / comm.size / cell.calls)


def _cells(stack: contextlib.ExitStack, comm: MPI.Intracomm, settings: Settings, directory: str) -> Iterator[Cell]:
    codes = mpi.load()
    file = codes.File.Open(comm, str(Path(directory) / "data"), codes.MODE_CREATE | codes.MODE_RDWR)
    stack.callback(file.Close)
    for size in settings.sizes:
        buffer = _aligned_ones(size)
        for name in CALL_NAMES:
            calls, first = max(1, settings.window_bytes // size), comm.rank * settings.window_bytes
            cell = Cell(directory, size, name, calls, {})
            _add_loops(cell, file, buffer, first)
            if settings.c_library is not None:
                cell.passes[C_SIDE] = bind_bare_loop(settings.c_library, file, name, buffer, first=first, calls=calls)
                cell.passes[C_SIDE]()
            yield cell


def _add_loops(cell: Cell, file: MPI.File, buffer: npt.NDArray[np.uint8], first: int) -> None:
    """Build our loops, and make one pass of each, which fills the file and shows that all bytes are moved."""
    sizes, starts = np.full(cell.calls, cell.size), np.zeros(cell.calls, dtype=np.int64)
    series = mpi_series(
        file, find_call(cell.call), buffer, starts, sizes, offsets=first + np.arange(cell.calls) * cell.size
    )
    for name in LOOPS:
        if name not in _missing():
            loop = Loop(series, find_loop(name))
            loop.run()
            if loop.errors or int(loop.moved_bytes.sum()) != series.asked_bytes:
                raise SessionError(f"the {name} loop over {cell.call} did not move all bytes: {loop.errors[:3]}")
            cell.passes[name] = loop.run


def _aligned_ones(size: int) -> npt.NDArray[np.uint8]:
    """A buffer that begins with a page and whose memory is there."""
    buffer = np.frombuffer(mmap.mmap(-1, size), dtype=np.uint8)
    buffer.fill(1)
    return buffer


def main() -> None:
    """Run as one rank of a job."""
    mpi.run_rank(lambda comm: run_rank(comm, Settings(**json.loads(sys.argv[1]))))


if __name__ == "__main__":
    main()
