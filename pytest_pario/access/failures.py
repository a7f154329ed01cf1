"""What the MPI library reports, turned into the errors of this package (ERR-05)."""

from __future__ import annotations

import errno
import functools
from dataclasses import dataclass
from typing import Any

from pytest_pario import mpi
from pytest_pario.errors import FileAccessError

ERRNO_CLASSES = {
    errno.ENOENT: "ERR_NO_SUCH_FILE",
    errno.EEXIST: "ERR_FILE_EXISTS",
    errno.EISDIR: "ERR_BAD_FILE",
    errno.ENOTDIR: "ERR_BAD_FILE",
    errno.ENAMETOOLONG: "ERR_BAD_FILE",
    errno.ELOOP: "ERR_BAD_FILE",
    errno.EACCES: "ERR_ACCESS",
    errno.EPERM: "ERR_ACCESS",
    errno.EROFS: "ERR_READ_ONLY",
    errno.ENOSPC: "ERR_NO_SPACE",
    errno.EDQUOT: "ERR_QUOTA",
}
"""The MPI error class that a failed system call stands for; any other errno is ERR_IO."""

VAGUE_CLASSES = frozenset({"ERR_OTHER", "ERR_UNKNOWN"})
"""Classes that say nothing of the cause; MPICH gives them to the tasks that a failure only reached."""

SECOND_HAND_MARKS = ("(unknown)()", "on a remote node")
"""Words in MPICH's text of an error that was met by another task and passed on with a precise class."""


@dataclass(frozen=True)
class Subject:
    """The file and the task that an error is about."""

    path: str
    """Name of the file as it was given to open."""

    rank: int
    """Rank of the task in the whole job, whatever the communicator of the file."""

    def refusal(self, operation: str, error_class: str, text: str) -> FileAccessError:
        """Build the error of a call that the local checks do not let through."""
        return FileAccessError(operation, self.path, error_class, text, self.rank)

    def system_error(self, operation: str, error: OSError) -> FileAccessError:
        """Build the error for a system call that failed while checking."""
        error_class = ERRNO_CLASSES.get(error.errno or 0, "ERR_IO")
        return self.refusal(operation, error_class, error.strerror or str(error))

    def translate(self, operation: str, error: BaseException) -> BaseException:
        """Turn an MPI exception into a FileAccessError; leave every other error as it is."""
        if not isinstance(error, mpi.load().Exception):
            return error
        failure = self.refusal(operation, class_name(error.Get_error_class()), summary(error.Get_error_string()))
        failure.__cause__ = error
        return failure


@functools.cache
def _class_names() -> dict[int, str]:
    names: dict[int, str] = {}
    for name, value in vars(mpi.load()).items():
        # Classes that the library does not have share a number with an older one, which comes first.
        if name.startswith("ERR_") and isinstance(value, int):
            names.setdefault(value, name)
    return names


def class_name(error_class: int) -> str:
    """Name of an MPI error class as in the standard, without its `MPI_` prefix."""
    return _class_names().get(error_class, f"ERR_CLASS_{error_class}")


def summary(text: str) -> str:
    """First line of an MPI error text and, where there is a stack of calls, its innermost line."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()] or ["no text"]
    headline = lines[0].removesuffix("error stack:").rstrip(" ,")
    return headline if len(lines) == 1 else f"{headline} [{lines[-1].replace('.', '')}]"


def is_vague(error: Any) -> bool:
    """Whether an error may only be the echo of another task's: believed if nobody has a better one."""
    return isinstance(error, FileAccessError) and (
        error.error_class in VAGUE_CLASSES or any(mark in error.text for mark in SECOND_HAND_MARKS)
    )
