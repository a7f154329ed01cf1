"""File names as MPI takes them, and what the local system says of the file behind."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from pytest_pario import mpi
from pytest_pario.access.failures import Subject
from pytest_pario.errors import ParameterError

POSIX_PREFIXES = frozenset({"ufs", "nfs", "lustre", "gpfs", "panfs", "xfs", "quobyte", "bglockless"})
"""ROMIO drivers that may be named before a file that can also be reached by system calls."""

PREFIX = re.compile(r"^([a-z][a-z0-9]+):(?=.)")


def local_path(path: str) -> str | None:
    """Name for system calls: without ROMIO's driver prefix, None where the driver is no POSIX file system."""
    found = PREFIX.match(path)
    if found is None:
        return path
    return path[found.end() :] if found[1] in POSIX_PREFIXES else None


def resolved_path(path: str) -> str:
    """The name that all tasks with the same file share, whatever links and directories they came by."""
    target = local_path(path)
    return path if target is None else os.path.realpath(target)


def check_name(path: object) -> None:
    """Refuse what cannot be the name of a file."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise ParameterError("path", path, "the name of a file", "open")


def check_path(subject: Subject, amode: int) -> None:
    """Refuse a file that this task cannot open in this mode.

    Without this check one task with a bad name leaves the others waiting inside Open MPI's open. MODE_EXCL is left to
    the library, which looks once for all tasks: a cached answer of a network file system may be seconds old.
    """
    target = local_path(subject.path)
    if target is None:
        return
    try:
        is_directory = stat.S_ISDIR(Path(target).stat().st_mode)
    except OSError as error:
        _check_missing(subject, target, amode, error)
        return
    if is_directory:
        raise subject.refusal("open", "ERR_BAD_FILE", "it is a directory")
    if not os.access(target, _access_bits(amode)):
        _confirm_by_opening(subject, target, amode)


def _check_missing(subject: Subject, target: str, amode: int, error: OSError) -> None:
    creates = bool(amode & mpi.load().MODE_CREATE)
    if isinstance(error, FileNotFoundError) and creates:
        if not Path(target).parent.is_dir():
            raise subject.refusal("open", "ERR_NO_SUCH_FILE", "its directory does not exist")
        return
    _confirm_by_opening(subject, target, amode)


def _access_bits(amode: int) -> int:
    codes = mpi.load()
    reads = os.R_OK if amode & (codes.MODE_RDONLY | codes.MODE_RDWR) else 0
    writes = os.W_OK if amode & (codes.MODE_WRONLY | codes.MODE_RDWR) else 0
    return reads | writes


def _confirm_by_opening(subject: Subject, target: str, amode: int) -> None:
    """Ask again with open(2): network file systems revalidate a name there and not in stat(2) or access(2)."""
    flags = {os.R_OK: os.O_RDONLY, os.W_OK: os.O_WRONLY}.get(_access_bits(amode), os.O_RDWR)
    try:
        os.close(os.open(target, flags | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as error:
        raise subject.system_error("open", error) from error
