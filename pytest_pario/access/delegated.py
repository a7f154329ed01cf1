"""The calls of one rank, carried out by a strategy in place of the library's collective calls.

It has the face of a `Batch`, so that the executor times both alike: errors are noted and the loop goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_pario import mpi
from pytest_pario.access.trace import trace_from_environment
from pytest_pario.errors import ParameterError
from pytest_pario.model import Access, Extents, Int64, Pattern
from pytest_pario.patterns.payload import Payload
from pytest_pario.patterns.stamp import Content, cut
from pytest_pario.strategies.files import MpiFile
from pytest_pario.strategies.parcels import noting
from pytest_pario.strategies.protocol import File, Movement, Site, Strategy

if TYPE_CHECKING:
    from mpi4py import MPI


class DelegatedBatch:
    """All calls of a rank in order, laid out before the clock starts."""

    def __init__(  # noqa: PLR0917 - what a call needs
        self,
        strategy: Strategy,
        comm: MPI.Intracomm,
        pattern: Pattern,
        table: Extents,
        payload: Payload,
        phase: Access,
        path: str,
    ) -> None:
        """Collective: every rank must make the same number of calls."""
        counts = comm.allgather(table.call_count)
        if len(set(counts)) > 1:
            raise ParameterError(f"{pattern.name}: calls per rank", counts, f"equal with strategy {strategy.name}")
        self.strategy, self._comm, self._memory = strategy, comm.Dup(), payload.data
        self._writes, self._path = phase != "read", path
        cuts = cut(table, Content(0), pattern.mem)
        self._offsets, self._lengths = cuts.offsets, cuts.lengths
        self._places = payload.positions[cuts.calls] + cuts.places
        self._bounds: list[int] = np.searchsorted(cuts.calls, np.arange(table.call_count + 1)).tolist()
        self.asked = table.call_bytes
        self.offsets: Int64 | None = table.first_offsets
        self._done = np.zeros(table.call_count, dtype=bool)
        self._site: Site | None = None
        self._trace = trace_from_environment(mpi.load().COMM_WORLD.Get_rank())

    @property
    def name(self) -> str:
        """What is called."""
        return f"{self.strategy.name}.{'write' if self._writes else 'read'}"

    def bind(self, handle: MPI.File) -> None:
        """Use this open file, whose view is that of plain bytes."""
        self.bind_file(MpiFile(handle, self._path))

    def bind_file(self, file: File) -> None:
        """Use this file."""
        self._site = Site(self._comm, file)

    def run(self, first: int, last: int) -> None:
        """Make calls first to last-1."""
        assert self._site is not None
        for number in range(first, last):
            before = len(self._site.errors)
            begin, end = self._bounds[number], self._bounds[number + 1]
            part = slice(begin, end)
            self.strategy.carry_out(
                self._site,
                Movement(self._offsets[part], self._places[part], self._lengths[part], self._memory, self._writes),
            )
            self._done[number] = len(self._site.errors) == before
            if self._trace is not None:
                self._tell(number, before)
        if last == self._done.size:
            # before the row's own sync and close, so that these come after all that was written
            self._settle()

    def moved(self) -> Int64:
        """Bytes of each call that was carried out without an error on this rank; shape (calls,)."""
        return np.where(self._done, self.asked, 0)

    @property
    def errors(self) -> list[Exception]:
        """What went wrong on this rank, as owner or as agent."""
        return self._site.errors if self._site is not None else []

    def free(self) -> None:
        """Give the private communicator back; collective."""
        self._settle()
        self._comm.Free()

    def _settle(self) -> None:
        if self._site is not None:
            with noting(self._site):
                self._site.file.settle()

    def _tell(self, number: int, before: int) -> None:
        """One record of the trace per call, as for any other operation (GPFS-57)."""
        assert self._site is not None
        assert self._trace is not None
        assert self.offsets is not None
        offset, length = int(self.offsets[number]), int(self.asked[number])
        for error in self._site.errors[before:]:
            self._trace.failure(self.name, self._path, offset, length, error)
        if len(self._site.errors) == before:
            self._trace.success(self.name, self._path, offset, length, length)
