"""Independent calls, one for each row."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any

from pytest_pario import mpi
from pytest_pario.access.loops import Loop, Series, choose_loop
from pytest_pario.errors import FileAccessError, ShortTransferError
from pytest_pario.workloads.btio.outputs.protocol import Output, Site


class Looped(Output):
    """One independent call for each row, made by the loop that all suites use."""

    def __init__(self, site: Site) -> None:
        """Lay out the rows of a field."""
        super().__init__(site)
        self._rows = site.rows
        self._writes = True
        self._target: Any = None
        self._loop: Loop | None = None
        self._asked = 0

    @abstractmethod
    def _series(self, number: int) -> Series:
        """The calls of a field."""

    def prepare(self, number: int) -> None:
        """Lay out the calls of a field."""
        kind: Any = "mpi" if self.api == "mpiio" else "posix"
        series = self._series(number)
        self._loop, self._asked = Loop(series, self._member(kind)), series.asked_bytes

    def _member(self, kind: Any) -> Any:
        if not hasattr(self, "_chosen"):
            self._chosen = choose_loop(self.site.loop, target=kind, comm=self.site.comm)
        return self._chosen

    def transfer(self, number: int) -> None:
        """All rows of this rank."""
        assert self._loop is not None
        self._loop.run()

    def settle(self) -> None:
        """Count bytes and look for errors."""
        assert self._loop is not None
        moved, asked = int(self._loop.moved_bytes.sum()), self._asked
        self.moved_bytes += moved
        operation = "write" if self._writes else "read"
        if self._loop.errors:
            self.note(self._error(operation, *self._loop.errors[0]))
        elif moved != asked:
            self.note(ShortTransferError(operation, None, asked, moved))

    def _error(self, operation: str, call: int, code: int) -> Exception:
        codes = mpi.load()
        text = codes.Get_error_string(code) if self.api == "mpiio" else os.strerror(code)
        number = codes.Get_error_class(code) if self.api == "mpiio" else code
        return FileAccessError(f"{operation} (row {call})", str(self.path), str(number), text, self.site.comm.rank)
