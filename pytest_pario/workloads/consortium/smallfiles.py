"""Many small files: create, read, stat and unlink, in one folder or in one for each client (CONS-71, CONS-72, CONS-74).

    files = SmallFiles(comm, directory, Files(count=100, size=4096))
    phase = files.measure("create", rounds=3)

Files are stamped, so that no two are alike. Each client reads, stats and verifies what the next client wrote, and
removes its own. The cost of making and destroying (open, close, unlink) is kept apart from that of the data (write,
read).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pytest_pario.errors import ParameterError, ShortTransferError, VerificationError
from pytest_pario.patterns import Files
from pytest_pario.patterns.payload import allocate
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.units import GiB
from pytest_pario.workloads.consortium.contents import Contents
from pytest_pario.workloads.consortium.names import check_names
from pytest_pario.workloads.consortium.phases import Phase, Work, clock_ns, measure_phase, settle
from pytest_pario.workloads.consortium.room import require_room

if TYPE_CHECKING:
    from mpi4py import MPI

MOST_BYTES = GiB
"""Bytes of all files of one client, which are held in memory to be verified."""

TIMED = {
    "create": ("open (create, exclusive)", "write", "close"),
    "read": ("open", "read", "close"),
    "stat": ("stat",),
    "unlink": ("unlink",),
}
"""The phases, and what is inside the timed part of each (CONS-07, CONS-71); nothing is synced."""

NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY


@dataclass(frozen=True)
class _Step:
    """What belongs to a phase: the timed part, and what is done before and after each round."""

    act: Callable[[], Work]
    before: Callable[[], None] | None
    after: Callable[[], None]


class SmallFiles:
    """The files of all clients below one folder."""

    def __init__(
        self, comm: MPI.Intracomm, directory: Path, layout: Files, seed: int = 0, name: str = "small-files"
    ) -> None:
        """Make the data of all files, and the folders; collective."""
        self._comm, self._top, self._layout, self._name = comm, directory, layout, name
        if layout.count * layout.size > MOST_BYTES:
            raise ParameterError("files_per_client * file_size", layout.count * layout.size, f"{MOST_BYTES} B or less")
        self._contents = Contents(layout, comm.size, seed)
        self._next = (comm.rank + 1) % comm.size
        settle(comm, f"preparing {name}", self._prepare)

    def _prepare(self) -> None:
        layout, mine = self._layout, self._comm.rank
        require_room(self._top, layout.count * self._comm.size, layout.size)
        self._own, self._theirs = self._paths(mine), self._paths(self._next)
        step = layout.transfer or max(layout.size, 1)
        self._calls = [slice(begin, min(begin + step, layout.size)) for begin in range(0, layout.size, step)]
        self._data = [self._contents.of(mine, index) for index in range(layout.count)]
        self._room = allocate(layout.count * layout.size).reshape(layout.count, layout.size)
        self._sizes = [0] * layout.count
        for folder in {path.parent for path in self._own} - {self._top}:
            folder.mkdir()

    def _paths(self, rank: int) -> list[Path]:
        return [self._top / name for name in self._layout.names(rank)]

    def measure(self, phase: str, rounds: int, warmup_rounds: int = 1) -> Phase:
        """Measure one phase, verify every round of it, and leave no file; collective."""
        steps = {
            "create": _Step(self._create, self.remove, self.check_created),
            "read": _Step(self._read, None, self._check_read),
            "stat": _Step(self._stat, None, self._check_sizes),
            "unlink": _Step(self._unlink, self._make, self.check_gone),
        }
        if phase not in steps:
            raise ParameterError("phase", phase, "one of " + ", ".join(steps), "test")
        step = steps[phase]
        if phase in ("read", "stat"):
            self.make()
            settle(self._comm, "verifying before the phase", self.check_created)
        done = measure_phase(
            self._comm, phase, step.act, place=self._top, timed=TIMED[phase],
            rounds=rounds, warmup_rounds=warmup_rounds, before=step.before, after=step.after,
        )  # fmt: skip
        settle(self._comm, "removing files", self.remove)
        settle(self._comm, "verifying removal", self.check_gone)
        return done

    def make(self) -> None:
        """Make all files, untimed; collective."""
        settle(self._comm, "making files", self._make)

    def remove(self) -> None:
        """Remove this client's files as far as they are there."""
        for path in self._own:
            path.unlink(missing_ok=True)

    # The timed parts.

    def _make(self) -> None:
        self._create()

    def _create(self) -> Work:
        opening = writing = closing = 0
        for path, data in zip(self._own, self._data, strict=True):
            begun = clock_ns()
            handle = os.open(path, NEW, 0o644)
            opened = clock_ns()
            try:
                for call in self._calls:
                    _write(handle, data[call].data)
            finally:
                written = clock_ns()
                os.close(handle)
            opening, writing = opening + opened - begun, writing + written - opened
            closing += clock_ns() - written
        return self._work(open=opening, write=writing, close=closing)

    def _read(self) -> Work:
        opening = reading = closing = 0
        for path, room in zip(self._theirs, self._room, strict=True):
            begun = clock_ns()
            handle = os.open(path, os.O_RDONLY)
            opened = clock_ns()
            try:
                for call in self._calls:
                    _read(handle, room[call].data)
            finally:
                read = clock_ns()
                os.close(handle)
            opening, reading, closing = opening + opened - begun, reading + read - opened, closing + clock_ns() - read
        return self._work(open=opening, read=reading, close=closing)

    def _stat(self) -> Work:
        for index, path in enumerate(self._theirs):
            self._sizes[index] = os.stat(path).st_size  # noqa: PTH116 - the call itself is what is measured
        return Work(self._layout.count)

    def _unlink(self) -> Work:
        for path in self._own:
            os.unlink(path)  # noqa: PTH108 - as above
        return Work(self._layout.count)

    def _work(self, **parts_ns: int) -> Work:
        seconds = {part: spent / 1e9 for part, spent in parts_ns.items()}
        return Work(self._layout.count, self._layout.count * self._layout.size, seconds)

    # What must hold after each round (CONS-74).

    def check_created(self) -> None:
        """Refuse wrong names, and wrong bytes in the files of the next client."""
        self._check_names(self._comm.size, "after create")
        for index, path in enumerate(self._theirs):
            self._compare(index, np.frombuffer(path.read_bytes(), dtype=np.uint8))

    def check_gone(self) -> None:
        """Refuse any name that is left."""
        self._check_names(0, "after unlink")

    def _check_names(self, clients: int, moment: str) -> None:
        if self._comm.rank == 0:
            expected = [name for rank in range(clients) for name in self._layout.names(rank)]
            check_names(self._name, self._top, expected, moment)

    def _check_read(self) -> None:
        for index, room in enumerate(self._room):
            self._compare(index, room)
        # so that what this round read cannot pass for what the next one reads
        self._room[:] = 0

    def _compare(self, index: int, found: Bytes) -> None:
        damage = self._contents.compare(str(self._theirs[index]), self._next, index, found)
        if damage is not None:
            raise VerificationError(self._name, damage)

    def _check_sizes(self) -> None:
        for path, size in zip(self._theirs, self._sizes, strict=True):
            if size != self._layout.size:
                raise VerificationError(self._name, f"{path}: stat says {size} B, {self._layout.size} B were written")
        self._sizes = [-1] * self._layout.count


def _write(handle: int, data: memoryview) -> None:
    moved = os.write(handle, data)
    if moved != len(data):
        raise ShortTransferError("write", None, len(data), moved)


def _read(handle: int, room: memoryview) -> None:
    moved = os.readv(handle, [room])
    if moved != len(room):
        raise ShortTransferError("read", None, len(room), moved)
