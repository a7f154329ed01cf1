"""Space of a file that is allocated before the first write: by the filesystem, or by the MPI library (GPFS-13)."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_pario.access.guard import GuardedFile
from pytest_pario.environment.reservation import reserve_space

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Allocated:
    """How a file got its space; the same calls may reserve it or write it, so that is told."""

    way: str
    elapsed_s: float
    """Apart from every measurement (CONS-46)."""
    allocated_bytes: int
    """What the filesystem says the file occupies; fewer than its size where zeros take no space."""


def allocate_by_filesystem(path: Path, size: int) -> Allocated:
    """Reserve space by the filesystem itself where it can: posix_fallocate would write without a word."""
    with path.open("wb") as file:
        begun_ns, way = time.perf_counter_ns(), "fallocate: unwritten extents"
        if not reserve_space(file.fileno(), max(size, 1)):
            os.posix_fallocate(file.fileno(), 0, max(size, 1))
            way = "posix_fallocate: written"
        os.ftruncate(file.fileno(), size)
        os.fsync(file.fileno())
        return Allocated(way, (time.perf_counter_ns() - begun_ns) / 1e9, os.fstat(file.fileno()).st_blocks * 512)


def allocate_by_library(comm: MPI.Intracomm, path: Path, amode: int, hints: Mapping[str, str], size: int) -> Allocated:
    """Have the library allocate, together on all ranks of the file; MPICH writes zeros from rank 0 (ENV-07)."""
    with GuardedFile.open(comm, path, amode, dict(hints)) as file:
        begun_ns = time.perf_counter_ns()
        file.preallocate(size)
        file.sync()
        elapsed_s = (time.perf_counter_ns() - begun_ns) / 1e9
    return Allocated("MPI_File_preallocate", elapsed_s, path.stat().st_blocks * 512)
