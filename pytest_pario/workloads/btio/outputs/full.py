"""Collective MPI-IO."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from pytest_pario import mpi
from pytest_pario.access.datatypes import datatype, elementary
from pytest_pario.access.guard import GuardedFile
from pytest_pario.access.info import BUFFER
from pytest_pario.access.transfer import RawCalls
from pytest_pario.patterns.multipartition import Multipartition
from pytest_pario.units import MiB
from pytest_pario.workloads.btio.classes import POINT_BYTES
from pytest_pario.workloads.btio.outputs.protocol import Output, Site

DEFAULT_BUFFER = 16 * MiB
"""ROMIO's collective buffer where nobody asks for one."""


class Full(Output):
    """Collective MPI-IO through a view of nested subarrays: one call for all cells of all ranks."""

    name = "full"
    collective, api = True, "mpiio"

    def __init__(self, site: Site) -> None:
        """Keep types until the file is closed."""
        super().__init__(site)
        self._types = contextlib.ExitStack()
        self._file: GuardedFile | None = None
        self._calls: RawCalls | None = None

    def open(self, *, writes: bool) -> None:
        """Open, set the view with the hints as the reference does, check the calls of all fields."""
        codes, site = mpi.load(), self.site
        amode = codes.MODE_CREATE | codes.MODE_RDWR if writes else codes.MODE_RDONLY
        self._file = GuardedFile.open(site.comm, self.path, amode, hints_at_open(site.hints))
        try:
            self._look(self._file, writes)
        except BaseException:
            self.close()
            raise

    def _look(self, file: GuardedFile, writes: bool) -> None:
        site = self.site
        view = Multipartition(site.problem.size, POINT_BYTES).recipe(site.comm.rank, site.comm.size)[0]
        etype = self._types.enter_context(elementary(view.etype))
        filetype = self._types.enter_context(datatype(view.filetype))
        file.set_view(view.displacement, etype, filetype, info=dict(site.hints) or None)
        self.hints_in_force = file.get_hints()
        name = "write_at_all" if writes else "read_at_all"
        spec = [site.buffer, site.points, etype]
        self._calls = file.check_before(name, [(site.points * s, spec) for s in range(site.problem.fields)])

    def transfer(self, number: int) -> None:
        """One collective call."""
        assert self._calls is not None
        try:
            self._calls.functions[number](*self._calls.arguments[number])
        except mpi.load().Exception as error:
            self._calls.outcome.note(error)

    def close(self) -> None:
        """Agree about all calls, then close; types are given back."""
        assert self._file is not None
        try:
            if self._calls is not None:
                self.moved_bytes += self._file.agree_after(self._calls)
        except Exception as error:
            self.note(error)
        try:
            self._file.close()
        except Exception as error:
            self.note(error)
        self._file = self._calls = None
        self._types.close()


def hints_at_open(hints: Mapping[str, str]) -> dict[str, str] | None:
    """A collective buffer beyond the default one: on an open file it can only shrink."""
    size = hints.get(BUFFER, "").strip()
    return {BUFFER: size} if size.isdigit() and int(size) > DEFAULT_BUFFER else None
