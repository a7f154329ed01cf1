"""The file, or files, of a pattern: names, communicators, access modes, and what is done before the first write."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_pario import mpi
from pytest_pario.access.allocation import Allocated, allocate_by_filesystem, allocate_by_library
from pytest_pario.access.failures import Subject
from pytest_pario.errors import SpaceError
from pytest_pario.model import Access, Pattern, Plan
from pytest_pario.patterns.check import file_size
from pytest_pario.units import MiB, format_bytes

if TYPE_CHECKING:
    from mpi4py import MPI

FILL_AT_ONCE = 4 * MiB
SPARE = 1.05
"""Room that a filesystem needs beside the data."""


@dataclass(frozen=True)
class Target:
    """Where one pattern is run."""

    comm: MPI.Intracomm
    pattern: Pattern
    path: Path
    """Of the shared file; files of single ranks have the rank as suffix."""
    hints: Mapping[str, str]
    """Requested at open."""
    view_hints: Mapping[str, str] = field(default_factory=dict)
    """Requested with every view, or after open where there is none (BEFF-55)."""
    deleting: bool = False
    """Whether the file goes with its close (MPI_MODE_DELETE_ON_CLOSE)."""

    @property
    def rank(self) -> int:
        """Rank in the test's communicator."""
        return int(self.comm.rank)

    def file_of(self, rank: int) -> Path:
        """The file that a rank writes."""
        return self.path if self.pattern.files == "shared" else Path(f"{self.path}.{rank}")

    @property
    def own_file(self) -> Path:
        """The file that this rank writes."""
        return self.file_of(self.rank)

    @property
    def file_comm(self) -> MPI.Intracomm:
        """Who opens a file together."""
        comm: MPI.Intracomm = self.comm if self.opens_together else mpi.load().COMM_SELF
        return comm

    @property
    def opens_together(self) -> bool:
        """Whether all ranks open one file in one call."""
        return self.pattern.files == "shared" and not self.pattern.open.alone

    @property
    def is_keeper(self) -> bool:
        """Whether this rank makes and removes its file: root, or everybody for files of single ranks."""
        return self.pattern.files == "each" or self.rank == 0

    def amode(self, phase: Access) -> int:
        """Access mode of a phase; everything is opened RDWR but a plain read (GPFS-03 wants sync after reads)."""
        codes, opened = mpi.load(), self.pattern.open
        mode: int = codes.MODE_RDONLY if phase == "read" and self.pattern.metric != "job_time" else codes.MODE_RDWR
        if phase == "write" and not opened.existing:
            mode |= codes.MODE_CREATE
        if opened.unique:
            mode |= codes.MODE_UNIQUE_OPEN
        if self.deleting:
            mode |= codes.MODE_DELETE_ON_CLOSE
        return mode

    def size(self, plan: Plan) -> int:
        """Bytes that the file of this rank has in the end."""
        tables = plan.ranks if self.pattern.files == "shared" else [plan.ranks[self.rank]]
        return file_size(tables)


def require_space(target: Target, plan: Plan) -> None:
    """Refuse a pattern for whose new file the filesystem has too little room, before anything is written (GEN-16)."""
    require_room(target, target.comm.allreduce(target.size(plan) if target.is_keeper else 0))


def require_room(target: Target, needed_bytes: int) -> None:
    """Refuse a pattern that adds so many bytes where the filesystem has too little room for them."""

    def look() -> None:
        free = free_bytes(target.path.parent)
        if needed_bytes * SPARE > free:
            raise SpaceError(
                f"{target.pattern.name} needs {format_bytes(needed_bytes)} in {target.path.parent}, "
                f"which has {format_bytes(free)} free: use a smaller profile or another --pario-dir"
            )

    mpi.on_root(target.comm, look)


def free_bytes(directory: Path) -> int:
    """Bytes that this user may still write to the filesystem of a directory."""
    facts = os.statvfs(directory)
    return facts.f_bavail * facts.f_frsize


def remove_files(target: Target) -> None:
    """Remove the file of a pattern, and what shared pointers may have left beside it."""
    mpi.together(target.comm, f"removing {target.path.name}", lambda: _remove_own(target))


def _remove_own(target: Target) -> None:
    if target.is_keeper:
        for path in (target.own_file, *_side_files(target.own_file)):
            path.unlink(missing_ok=True)


def require_deleted(target: Target) -> None:
    """Make sure that a file which goes with its close is gone."""

    def look() -> None:
        if target.is_keeper and target.own_file.exists():
            text = "still there after it was closed with MPI_MODE_DELETE_ON_CLOSE"
            raise Subject(str(target.own_file), target.rank).refusal("close", "ERR_FILE", text)

    mpi.together(target.comm, f"closing {target.path.name}", look)


def prepare_new(target: Target, plan: Plan) -> dict[str, Any]:
    """Bring the file to the state in which the first write must find it; what was done is told (CONS-46)."""
    remove_files(target)
    opened = target.pattern.open
    own = mpi.together(target.comm, f"preparing {target.path.name}", lambda: _prepare_own(target, plan))
    if opened.prefill is not None:
        return {"allocation": f"prefilled with 0x{opened.prefill:02x}"}
    if opened.prealloc:
        # of a file that all open together every rank knows the same: its keeper tells
        made = [one for one in target.comm.allgather(own if target.is_keeper else None) if one is not None]
        return {
            "allocation": f"preallocated ({', '.join(sorted({one.way for one in made}))})",
            "allocation_s": max(one.elapsed_s for one in made),
            "allocated_bytes": sum(one.allocated_bytes for one in made),
        }
    return {"allocation": "sized (sparse)" if opened.presize or opened.existing else "new"}


def _prepare_own(target: Target, plan: Plan) -> Allocated | None:
    """Make the own file; how its space was allocated, where it was."""
    opened, size = target.pattern.open, target.size(plan)
    by_library = opened.prealloc and opened.prefill is None and opened.prealloc_by == "library"
    if by_library and (target.opens_together or target.is_keeper):
        amode = target.amode("write") | mpi.load().MODE_CREATE
        return allocate_by_library(target.file_comm, target.own_file, amode, target.hints, size)
    if not target.is_keeper:
        return None
    if opened.prefill is not None:
        _fill(target.own_file, size, opened.prefill)
    elif opened.prealloc:
        return allocate_by_filesystem(target.own_file, size)
    elif opened.presize or opened.existing:
        with target.own_file.open("wb") as file:
            os.ftruncate(file.fileno(), size)
    return None


def _fill(path: Path, size: int, byte: int) -> None:
    block = bytes([byte]) * min(size, FILL_AT_ONCE)
    with path.open("wb", buffering=0) as file:
        left = size
        while left:
            left -= file.write(block[:left]) or 0
        os.fsync(file.fileno())


def _side_files(path: Path) -> list[Path]:
    # ROMIO keeps the shared pointer in .NAME.shfp.NUMBER beside the file, Open MPI in NAME*.data or .locktest
    with contextlib.suppress(OSError):
        return [*path.parent.glob(f".{path.name}.shfp.*"), *path.parent.glob(f"{path.name}*.locktest.*")]
    return []
