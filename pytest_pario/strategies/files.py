"""An open MPI file as the agents use it: independent calls on the plain bytes, of one range or of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pytest_pario import mpi
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.strategies.lists import Lists, open_lists
from pytest_pario.strategies.runs import Runs
from pytest_pario.units import GiB

if TYPE_CHECKING:
    from mpi4py import MPI

AT_ONCE = 1 * GiB
"""Bytes of one call: libraries before MPI 4 take counts below 2^31 only."""


class MpiFile:
    """A handle with the view of a file that has just been opened."""

    def __init__(self, handle: MPI.File, path: str | None = None) -> None:
        """The handle stays its owner's; with the path of its file a rank can ask for lists."""
        codes = mpi.load()
        self._handle, self._byte, self._status = handle, codes.BYTE, codes.Status()
        self._path, self._lists = path, cast("Lists | None", None)

    def write_at(self, offset: int, data: Bytes) -> int:
        """Write all of `data`."""
        return self._move(self._handle.Write_at, offset, data)

    def read_at(self, offset: int, out: Bytes) -> int:
        """Fill `out`."""
        return self._move(self._handle.Read_at, offset, out)

    def start_write(self, offset: int, data: Bytes) -> MpiPending:
        """Ask for writes, and go on."""
        return self._start(self._handle.Iwrite_at, offset, data)

    def start_read(self, offset: int, out: Bytes) -> MpiPending:
        """Ask for reads, and go on."""
        return self._start(self._handle.Iread_at, offset, out)

    def start_list(self, runs: Runs, data: Bytes, *, writes: bool) -> MpiPending | None:
        """Ask for all runs by one request."""
        if self._lists is None and self._path is not None:
            self._lists = open_lists(self._path, self._handle)
            if self._lists is None:
                self._path = None
        pending = MpiPending()
        started = self._lists is not None and self._lists.start(runs, data, pending, writes=writes)
        return pending if started else None

    def settle(self) -> None:
        """Close what was opened for lists; what it wrote is in the file then, as that of any file that was closed."""
        lists, self._lists = self._lists, None
        if lists is not None:
            lists.close()

    def _move(self, call: Any, offset: int, data: Bytes) -> int:
        moved = 0
        for begin in range(0, data.size, AT_ONCE):
            part = data[begin : begin + AT_ONCE]
            call(offset + begin, [part, part.size, self._byte], self._status)
            moved += self._status.Get_elements(self._byte)
        return moved

    def _start(self, call: Any, offset: int, data: Bytes) -> MpiPending:
        pending = MpiPending()
        for begin in range(0, data.size, AT_ONCE):
            part = data[begin : begin + AT_ONCE]
            try:
                pending.requests.append(call(offset + begin, [part, part.size, self._byte]))
            except Exception as error:
                # the parts before are under way: whoever waits for them is told
                pending.error = error
                break
        return pending


class MpiPending:
    """Requests of one transfer."""

    def __init__(self, *requests: MPI.Request) -> None:
        """Not yet waited for."""
        self.requests, self.error = list(requests), cast("Exception | None", None)
        self._moved = 0

    def end(self) -> None:
        """Wait for all, also where one fails; whoever asks later is told how they ended."""
        codes = mpi.load()
        for request in self.requests:
            status = codes.Status()
            try:
                request.Wait(status)
                self._moved += status.Get_elements(codes.BYTE)
            except Exception as error:
                self.error = self.error or error
        self.requests = []

    def wait(self) -> int:
        """Wait for all; returns the bytes that they moved, or raises the first error."""
        self.end()
        if self.error is not None:
            raise self.error
        return self._moved
