"""The view of a file: what a task sees of it, and whether MPI will take it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_pario import mpi
from pytest_pario.access.failures import Subject
from pytest_pario.access.memory import commit, natural
from pytest_pario.errors import ParameterError

if TYPE_CHECKING:
    from mpi4py import MPI

DATAREPS = ("native", "internal", "external32")


@dataclass(frozen=True)
class View:
    """Arguments of set_view that passed the local checks."""

    displacement: int
    etype: MPI.Datatype
    filetype: MPI.Datatype
    datarep: str

    @property
    def arguments(self) -> tuple[int, MPI.Datatype, MPI.Datatype, str]:
        """Positional arguments of mpi4py's `Set_view`."""
        return self.displacement, self.etype, self.filetype, self.datarep

    @property
    def shape(self) -> tuple[object, ...]:
        """Numbers that equal views share; a shared pointer needs one view on all tasks (ENV-04)."""
        return self.displacement, self.etype.Get_size(), _bounds(self.filetype), self.datarep


def byte_view() -> View:
    """The view of a file that has just been opened."""
    byte = mpi.load().BYTE
    return View(0, byte, byte, "native")


def check_view(subject: Subject, amode: int, *, displacement: int, etype: Any, filetype: Any, datarep: str) -> View:
    """Check the arguments of set_view on this task alone; each of these errors on one task hangs MPICH (ENV-20)."""
    origin = "set_view"
    if not (amode & mpi.load().MODE_SEQUENTIAL and displacement == mpi.load().DISPLACEMENT_CURRENT):
        displacement = natural("displacement", displacement, origin)
    if datarep not in DATAREPS:
        raise ParameterError("datarep", datarep, f"one of {', '.join(DATAREPS)}", origin)
    view = View(displacement, commit(etype, "etype", origin), commit(filetype, "filetype", origin), datarep)
    _check_whole_etypes(view)
    if not (view.filetype.is_predefined and datarep == "native"):
        _rehearse(subject, amode, view)
    return view


def _check_whole_etypes(view: View) -> None:
    unit, size = view.etype.Get_size(), view.filetype.Get_size()
    if unit <= 0:
        raise ParameterError("etype", f"{unit} B", "a datatype of at least one byte", "set_view")
    if size % unit:
        raise ParameterError("filetype", f"{size} B", f"a whole number of {unit} B etypes", "set_view")


def _rehearse(subject: Subject, amode: int, view: View) -> None:
    """Set the view on a scratch file of this task alone, where a refusal hangs nobody.

    Only the library knows all that it refuses, such as displacements that decrease or overlap in a file that is
    open for writing.
    """
    displacement = max(view.displacement, 0)
    with _scratch_file(amode) as handle:
        if handle is None:
            return
        try:
            handle.Set_view(displacement, *view.arguments[1:])
        except mpi.load().Exception as error:
            raise subject.translate("set_view", error) from error


@contextlib.contextmanager
def _scratch_file(amode: int) -> Iterator[MPI.File | None]:
    """Open a file of this task alone in the same access mode; None where there is no room for one."""
    codes = mpi.load()
    access = amode & (codes.MODE_RDONLY | codes.MODE_WRONLY | codes.MODE_RDWR)
    with contextlib.ExitStack() as stack:
        try:
            scratch = stack.enter_context(tempfile.NamedTemporaryFile(prefix="pario-view-"))
            handle: MPI.File = codes.File.Open(codes.COMM_SELF, scratch.name, access)
        except (OSError, codes.Exception):
            yield None
            return
        stack.callback(handle.Close)
        yield handle


def _bounds(datatype: MPI.Datatype) -> tuple[int, ...]:
    return datatype.Get_size(), *datatype.Get_extent(), *datatype.Get_true_extent()
