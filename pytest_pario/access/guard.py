"""A file on which no task is left behind: errors reach all tasks, and nobody hangs (GPFS-46..54).

    with GuardedFile.open(comm, "data", MODE_CREATE | MODE_RDWR) as file:
        file.write_at_all(comm.rank * len(piece), piece)

Collective methods check their arguments on each task, agree before the MPI call and again after it; independent methods
raise on their own task and are agreed about at the end of a `phase`. Loops under the clock use `check_before`, the raw
calls that it returns, and `agree_after`.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING

from pytest_pario import mpi
from pytest_pario.access.agreement import Agreement
from pytest_pario.access.collective import CollectiveGuard, Terms, no_check
from pytest_pario.access.info import as_info, check_growth, check_hints, collective_hints
from pytest_pario.access.memory import BufferSpec, natural
from pytest_pario.access.modes import check_amode, check_writable
from pytest_pario.access.paths import check_name, check_path, resolved_path
from pytest_pario.access.trace import trace_from_environment
from pytest_pario.access.views import View, check_view
from pytest_pario.errors import ParameterError

if TYPE_CHECKING:
    from mpi4py import MPI

    from pytest_pario.access.info import Hints


class GuardedFile(CollectiveGuard):
    """A file that the tasks of a communicator have open together; made by `GuardedFile.open`."""

    @classmethod
    def open(
        cls,
        comm: MPI.Intracomm,
        path: str | os.PathLike[str],
        amode: int,
        info: Hints = None,
        *,
        develop: bool | None = None,
    ) -> GuardedFile:
        """Open a file on all tasks of `comm` or on none; `develop` left out asks `MP_EUIDEVELOP` (GPFS-50)."""
        file = cls(Agreement(comm, develop), str(path), amode)
        try:
            file._open(comm, path, info)
        except Exception:
            # Every task is here, so the private communicator can go too: a failed open leaves nothing open.
            file._agreement.free()
            raise
        return file

    def __enter__(self) -> GuardedFile:
        """Enter the block in which the file is open."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file; an error that left the block on this task reaches all tasks (ERR-13)."""
        if self.closed:
            return
        news = None if error is None or self._agreement.knows(error) else error
        verdict = self._close(news)
        if error is None and verdict is not None:
            raise verdict

    # Calls about the file as a whole.

    def set_view(
        self,
        displacement: int = 0,
        etype: MPI.Datatype | None = None,
        filetype: MPI.Datatype | None = None,
        datarep: str = "native",
        info: Hints = None,
    ) -> None:
        """Set what this task sees of the file; both types are bytes, or the etype, unless given."""
        etype = mpi.load().BYTE if etype is None else etype
        filetype = etype if filetype is None else filetype

        def check() -> View:
            check_hints(info, "set_view")
            check_growth(self.raw, info, "set_view")
            return check_view(
                self._subject,
                self.amode,
                displacement=displacement,
                etype=etype,
                filetype=filetype,
                datarep=datarep,
            )

        def act(view: View) -> View:
            with as_info(info) as lent:
                self.raw.Set_view(*view.arguments, lent)
            return view

        def details() -> Terms:
            return {"etype size": etype.Get_size(), "info": collective_hints(info)}

        self.view = self._collective("set_view", check, act, {"datarep": datarep}, details)

    def set_size(self, size: int) -> None:
        """Set the size of the file in bytes."""
        self._resize("set_size", size)

    def preallocate(self, size: int) -> None:
        """Have room for at least `size` bytes; MPICH does it by reading and writing (ENV-07)."""
        self._resize("preallocate", size)

    def set_atomicity(self, flag: bool) -> None:
        """Turn atomic mode on or off."""
        self._collective("set_atomicity", no_check, lambda _: self.raw.Set_atomicity(flag), {"flag": bool(flag)})

    def set_info(self, info: Hints) -> None:
        """Give new hints for the open file."""

        def act(_: None) -> None:
            with as_info(info) as lent:
                self.raw.Set_info(lent)

        def check() -> None:
            check_hints(info, "set_info")
            check_growth(self.raw, info, "set_info")

        self._collective("set_info", check, act, details=lambda: {"info": collective_hints(info)})

    def seek_shared(self, offset: int, whence: int | None = None) -> None:
        """Move the pointer of all tasks, counted in etypes; from the beginning unless `whence` says otherwise."""
        start = mpi.load().SEEK_SET if whence is None else whence
        self._collective(
            "seek_shared",
            lambda: _check_seek("seek_shared", offset, start),
            lambda _: self.raw.Seek_shared(offset, start),
            {"offset": offset, "whence": start, "view": self.view.shape},
        )

    def sync(self) -> None:
        """Bring what was written to the storage; both MPICH and Open MPI refuse it on MODE_RDONLY (ENV-13)."""
        self._collective("sync", no_check, lambda _: self.raw.Sync())

    def close(self) -> None:
        """Close the file on all tasks; does nothing on a closed file.

        A task that closes while others are in another call waits for them: they are told by an error and are to
        close too. So a close in a `finally` clause is safe.
        """
        if self.closed:
            return
        verdict = self._close(None)
        if verdict is not None:
            raise verdict

    # Calls of this task alone.

    def seek(self, offset: int, whence: int | None = None) -> None:
        """Move this task's own pointer, counted in etypes."""
        start = mpi.load().SEEK_SET if whence is None else whence
        self._alone("seek", lambda: _check_seek("seek", offset, start), lambda _: self.raw.Seek(offset, start))

    def get_position(self) -> int:
        """Where this task's own pointer is, in etypes."""
        return self._alone("get_position", no_check, lambda _: self.raw.Get_position())

    def get_size(self) -> int:
        """Size of the file in bytes."""
        return self._alone("get_size", no_check, lambda _: self.raw.Get_size())

    def get_hints(self) -> dict[str, str]:
        """The hints in force."""

        def act(_: None) -> dict[str, str]:
            info = self.raw.Get_info()
            try:
                return dict(info.items())
            finally:
                info.Free()

        return self._alone("get_info", no_check, act)

    # The twelve data calls (MODEL-06); each returns the bytes moved and raises ShortTransferError if some are missing.

    def write_at_all(self, offset: int, buffer: BufferSpec) -> int:
        """Write at an explicit offset, all tasks together."""
        return self._move("write_at_all", buffer, offset)

    def read_at_all(self, offset: int, buffer: BufferSpec) -> int:
        """Read at an explicit offset, all tasks together."""
        return self._move("read_at_all", buffer, offset)

    def write_at(self, offset: int, buffer: BufferSpec) -> int:
        """Write at an explicit offset, this task alone."""
        return self._move("write_at", buffer, offset)

    def read_at(self, offset: int, buffer: BufferSpec) -> int:
        """Read at an explicit offset, this task alone."""
        return self._move("read_at", buffer, offset)

    def write_all(self, buffer: BufferSpec) -> int:
        """Write at each task's own pointer, all tasks together."""
        return self._move("write_all", buffer)

    def read_all(self, buffer: BufferSpec) -> int:
        """Read at each task's own pointer, all tasks together."""
        return self._move("read_all", buffer)

    def write(self, buffer: BufferSpec) -> int:
        """Write at this task's own pointer, this task alone."""
        return self._move("write", buffer)

    def read(self, buffer: BufferSpec) -> int:
        """Read at this task's own pointer, this task alone."""
        return self._move("read", buffer)

    def write_ordered(self, buffer: BufferSpec) -> int:
        """Write at the shared pointer in the order of ranks, all tasks together."""
        return self._move("write_ordered", buffer)

    def read_ordered(self, buffer: BufferSpec) -> int:
        """Read at the shared pointer in the order of ranks, all tasks together."""
        return self._move("read_ordered", buffer)

    def write_shared(self, buffer: BufferSpec) -> int:
        """Write at the shared pointer, this task alone."""
        return self._move("write_shared", buffer)

    def read_shared(self, buffer: BufferSpec) -> int:
        """Read at the shared pointer, this task alone."""
        return self._move("read_shared", buffer)

    # Parts of the above.

    def _open(self, comm: MPI.Intracomm, path: str | os.PathLike[str], info: Hints) -> None:
        problem: Exception | None = None
        try:
            # Before anything else, so that a failing open is traced too.
            self._trace = trace_from_environment(self._agreement.rank)
        except Exception as error:
            problem = error

        def check() -> None:
            if problem is not None:
                raise problem
            check_name(path)
            check_amode(self._subject, self.amode)
            check_hints(info, "open")
            check_path(self._subject, self.amode)

        def act(_: None) -> MPI.File:
            with as_info(info) as lent:
                return mpi.load().File.Open(comm, self.path, self.amode, lent)  # type: ignore[no-any-return]

        def details() -> Terms:
            return {"file": resolved_path(self.path), "info": collective_hints(info)}

        # Open MPI takes differing modes without a word, MPICH refuses them; the comparison makes both the same.
        self._handle = self._collective("open", check, act, {"amode": self.amode}, details)
        self._handle.Set_errhandler(mpi.load().ERRORS_RETURN)

    def _resize(self, operation: str, size: int) -> None:
        def check() -> int:
            check_writable(self._subject, operation, self.amode)
            return natural("size", size, operation)

        def act(checked: int) -> None:
            getattr(self.raw, operation.capitalize())(checked)

        self._collective(operation, check, act, {"size": size})


def _check_seek(operation: str, offset: int, whence: int) -> None:
    """Refuse an unknown origin, and a place before the beginning where it can be seen without asking MPI."""
    codes = mpi.load()
    if whence not in (codes.SEEK_SET, codes.SEEK_CUR, codes.SEEK_END):
        raise ParameterError("whence", whence, "SEEK_SET, SEEK_CUR or SEEK_END", operation)
    natural("offset", offset if whence == codes.SEEK_SET else abs(offset), operation)
