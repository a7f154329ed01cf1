"""Access modes: which are possible, and what a file that was opened in one allows."""

from __future__ import annotations

from pytest_pario import mpi
from pytest_pario.access.calls import DataCall
from pytest_pario.access.failures import Subject

MODES = (
    "MODE_RDONLY",
    "MODE_WRONLY",
    "MODE_RDWR",
    "MODE_CREATE",
    "MODE_EXCL",
    "MODE_DELETE_ON_CLOSE",
    "MODE_UNIQUE_OPEN",
    "MODE_SEQUENTIAL",
    "MODE_APPEND",
)


def check_amode(subject: Subject, amode: int) -> None:
    """Refuse an access mode that the MPI standard forbids."""
    codes = mpi.load()
    if not isinstance(amode, int) or amode & ~sum(getattr(codes, name) for name in MODES):
        raise subject.refusal("open", "ERR_AMODE", f"{amode!r} is not made of {', '.join(MODES)}")
    if sum(bool(amode & mode) for mode in (codes.MODE_RDONLY, codes.MODE_WRONLY, codes.MODE_RDWR)) != 1:
        raise subject.refusal("open", "ERR_AMODE", "it must hold one of MODE_RDONLY, MODE_WRONLY and MODE_RDWR")
    if amode & codes.MODE_RDONLY and amode & (codes.MODE_CREATE | codes.MODE_EXCL):
        raise subject.refusal("open", "ERR_AMODE", "MODE_RDONLY excludes MODE_CREATE and MODE_EXCL")
    if amode & codes.MODE_RDWR and amode & codes.MODE_SEQUENTIAL:
        raise subject.refusal("open", "ERR_AMODE", "MODE_RDWR excludes MODE_SEQUENTIAL")


def check_writable(subject: Subject, operation: str, amode: int) -> None:
    """Refuse to change a file that was opened to be read only; libraries differ in whom they tell (ENV-14)."""
    if amode & mpi.load().MODE_RDONLY:
        raise subject.refusal(operation, "ERR_READ_ONLY", "the file was opened with MODE_RDONLY")


def check_direction(subject: Subject, call: DataCall, amode: int) -> None:
    """Refuse a data call that the access mode does not allow."""
    codes = mpi.load()
    if call.writes:
        check_writable(subject, call.name, amode)
    elif amode & codes.MODE_WRONLY:
        raise subject.refusal(call.name, "ERR_ACCESS", "the file was opened with MODE_WRONLY")
    if call.pointer != "shared" and amode & codes.MODE_SEQUENTIAL:
        raise subject.refusal(
            call.name, "ERR_UNSUPPORTED_OPERATION", "MODE_SEQUENTIAL allows calls with the shared pointer only"
        )
