"""Room on the filesystem under test, looked at before anything is written (GEN-16)."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_pario.errors import SpaceError
from pytest_pario.units import format_bytes

BLOCK = 4096
"""What a small file takes at least."""


def require_room(directory: Path, files: int, file_size: int) -> None:
    """Refuse to start what would not fit: so many files, each of so many bytes."""
    space = os.statvfs(directory)
    needed = files * -(-max(file_size, 1) // BLOCK) * BLOCK
    free = space.f_bavail * space.f_frsize
    if needed > free:
        raise SpaceError(f"{directory}: {format_bytes(needed)} are needed, {format_bytes(free)} are free")
    # some filesystems have no fixed number of inodes and report 0
    if space.f_files and files > space.f_favail:
        raise SpaceError(f"{directory}: {files} files are to be made, {space.f_favail} inodes are free")
