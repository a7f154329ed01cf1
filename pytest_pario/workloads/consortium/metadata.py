"""MPI-IO without data: open and close, resize, delete, by all tasks together or by each on its own (CONS-73).

    phase = Metadata(comm, directory, count=16, collective=True).measure("open", rounds=3)

Collective: the tasks share the files. Independent: each task has files of its own, opened on MPI_COMM_SELF. Deleting is
never collective in MPI, so that the first task deletes shared files, while the others wait.

Under the clock the calls are made without a guard, whose two reductions would cost as much as what is measured. They
cannot go wrong on one task alone by their arguments, which are the same on all; the same calls were made through the
guard before the clock started; and errors are agreed about after it has stopped.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pytest_pario import mpi
from pytest_pario.access.failures import Subject
from pytest_pario.access.guard import GuardedFile
from pytest_pario.access.info import as_info
from pytest_pario.errors import ParameterError, VerificationError
from pytest_pario.units import KiB
from pytest_pario.workloads.consortium.names import check_names
from pytest_pario.workloads.consortium.phases import Phase, Work, measure_phase, settle
from pytest_pario.workloads.consortium.room import require_room
from pytest_pario.workloads.hints import check_hints, classify_hints, group_hints

if TYPE_CHECKING:
    from mpi4py import MPI

Counts: TypeAlias = tuple[int, int]
"""Measured rounds, and rounds before them that do not count."""

STEP = 4 * KiB
"""The sizes that a file is set to are multiples of this, in no order (they grow and shrink)."""

TIMED = {
    "create": ("MPI_File_open (create, exclusive)", "MPI_File_close"),
    "open": ("MPI_File_open", "MPI_File_close"),
    "resize": ("MPI_File_set_size",),
    "delete": ("MPI_File_delete",),
}
"""The operations, and what is inside the timed part of each (CONS-07, CONS-73)."""


class Metadata:
    """`count` files of all tasks together, or of each task."""

    def __init__(
        self,
        comm: MPI.Intracomm,
        directory: Path,
        count: int,
        *,
        collective: bool,
        name: str = "metadata",
        seed: int = 0,
        hints: Mapping[str, str] | None = None,
    ) -> None:
        """Choose names and sizes; nothing is made yet. Collective."""
        if count < 1:
            raise ParameterError("metadata_files", count, "1 or more", "test")
        self._hints, self._in_force = dict(hints or {}), dict[str, str]()
        self._info: MPI.Info = mpi.load().INFO_NULL
        check_hints(self._hints)  # GEN-13
        self._comm, self._top, self._name = comm, directory, name
        self._together: MPI.Intracomm = comm if collective else mpi.load().COMM_SELF
        self._owner = 0 if collective else comm.rank
        self._rows = {owner: [f"task{owner:05d}.{i:06d}" for i in range(count)] for owner in self._owners()}
        self._files = [directory / file for file in self._rows[self._owner]]
        self._sizes = [int(size) for size in (np.random.default_rng(seed).permutation(count) + 1) * STEP]
        settle(comm, f"preparing {name}", lambda: require_room(directory, count * len(self._rows), 0))

    def _owners(self) -> range:
        return range(1 if self._together is self._comm else self._comm.size)

    @property
    def _deletes(self) -> bool:
        """Whether this task deletes the files that it uses."""
        return self._owner == self._comm.rank

    def measure(self, operation: str, rounds: int, warmup_rounds: int = 1) -> Phase:
        """Measure one operation, verify names and sizes, and leave no file; collective."""
        measures: dict[str, Callable[[Counts], Phase]] = {
            "create": self._measure_create,
            "open": self._measure_open,
            "resize": self._measure_resize,
            "delete": self._measure_delete,
        }
        if operation not in measures:
            raise ParameterError("operation", operation, "one of " + ", ".join(measures), "test")
        with as_info(self._hints or None) as self._info:
            done = measures[operation]((rounds, warmup_rounds))
        settle(self._comm, "removing files", self._clear)
        settle(self._comm, "verifying removal", self.check_gone)
        # GEN-12; files of single tasks have the same hints, of which the first task tells
        in_force = self._comm.bcast(self._in_force, root=0)
        told = group_hints(classify_hints(self._hints, in_force))
        return dataclasses.replace(done, hints_requested=self._hints, hints=told)

    def _measure_create(self, counts: Counts) -> Phase:
        self._rehearse()
        new = mpi.load().MODE_CREATE | mpi.load().MODE_EXCL | mpi.load().MODE_RDWR
        return self._measure("create", lambda: self._open_all(new), counts, self._clear, self.check_made)

    def _measure_open(self, counts: Counts) -> Phase:
        self._make()
        mode = mpi.load().MODE_RDWR
        return self._measure("open", lambda: self._open_all(mode), counts, None, self.check_made)

    def _measure_resize(self, counts: Counts) -> Phase:
        path = self._files[0]
        with self._guarded(path, mpi.load().MODE_CREATE | mpi.load().MODE_RDWR) as file:
            self._in_force = file.get_hints()
            # each size by itself, through the guard, looked at from outside MPI
            for size in self._sizes:
                file.set_size(size)
                with file.phase("verify size"):
                    self._check_size(path, size, file.get_size())

            def resize() -> Work:
                for size in self._sizes:
                    file.raw.Set_size(size)
                return Work(self._counted(len(self._sizes)))

            def check() -> None:
                self._check_size(path, self._sizes[-1], file.get_size())

            return self._measure("resize", resize, counts, None, check)

    def _measure_delete(self, counts: Counts) -> Phase:
        def delete() -> Work:
            for path in self._files if self._deletes else ():
                mpi.load().File.Delete(str(path), self._info)
            return Work(self._counted(len(self._files)))

        def before() -> None:
            # opening is collective and settles itself
            self._make()

        return self._measure("delete", delete, counts, before, self.check_gone)

    def _measure(
        self,
        operation: str,
        act: Callable[[], Work],
        counts: Counts,
        before: Callable[[], None] | None,
        after: Callable[[], None],
    ) -> Phase:
        def translated() -> Work:
            try:
                return act()
            except mpi.load().Exception as error:
                raise Subject(str(self._top), self._comm.rank).translate(operation, error) from error

        return measure_phase(
            self._comm, operation, translated, place=self._top, timed=TIMED[operation],
            rounds=counts[0], warmup_rounds=counts[1], before=before, after=after,
        )  # fmt: skip

    def _open_all(self, mode: int) -> Work:
        codes = mpi.load()
        names = [str(path) for path in self._files]
        for name in names:
            file = codes.File.Open(self._together, name, mode, self._info)
            file.Close()
        return Work(self._counted(len(names)))

    def _counted(self, operations: int) -> int:
        """Operations on shared files count once for all tasks."""
        return operations if self._deletes else 0

    def _guarded(self, path: Path, mode: int) -> GuardedFile:
        return GuardedFile.open(self._together, path, mode, self._hints or None)

    def _rehearse(self) -> None:
        """Make one file through the guard: what stands in the way is found before the clock starts."""
        self._make_one(self._files[0])
        settle(self._comm, "rehearsing", lambda: None)

    def _make(self) -> None:
        """Make all files through the guard; collective over the tasks that share them."""
        for path in self._files:
            self._make_one(path)

    def _make_one(self, path: Path) -> None:
        with self._guarded(path, mpi.load().MODE_CREATE | mpi.load().MODE_RDWR) as file:
            self._in_force = self._in_force or file.get_hints()

    def _clear(self) -> None:
        for path in self._files if self._deletes else ():
            path.unlink(missing_ok=True)

    # What must hold after each round (CONS-74).

    def check_made(self) -> None:
        """Refuse wrong names, and files that are not empty."""
        if self._comm.rank == 0:
            check_names(self._name, self._top, [file for row in self._rows.values() for file in row], "after create")
        for path in self._files:
            self._check_size(path, 0, path.stat().st_size)

    def check_gone(self) -> None:
        """Refuse any name that is left."""
        if self._comm.rank == 0:
            check_names(self._name, self._top, (), "after delete")

    def _check_size(self, path: Path, expected: int, told: int) -> None:
        for size, source in ((told, "MPI"), (path.stat().st_size, "stat")):
            if size != expected:
                raise VerificationError(self._name, f"{path}: {source} says {size} B, it was set to {expected} B")
