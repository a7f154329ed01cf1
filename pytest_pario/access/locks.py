"""Record locks that a failed write leaves behind."""

from __future__ import annotations

import contextlib
import os

from pytest_pario.access.paths import local_path


def release_record_locks(path: str) -> None:
    """Drop every record lock that this process holds on a file.

    ROMIO's data sieving locks the range that it reads, patches and writes back; when the write fails the lock stays,
    and the next task to write nearby waits for ever. POSIX drops all locks of a process on a file as soon as the
    process closes any descriptor of it, so opening and closing once more is the cure.
    """
    target = local_path(path)
    if target is None:
        return
    for flags in (os.O_RDONLY, os.O_WRONLY):
        with contextlib.suppress(OSError):
            os.close(os.open(target, flags | os.O_NONBLOCK | os.O_CLOEXEC))
            return
