"""Whether a row can be moved past the page cache, and with which alignment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_pario import mpi
from pytest_pario.environment.context import Context
from pytest_pario.environment.direct_io import DirectIO, direct_io
from pytest_pario.environment.local import MEMORY
from pytest_pario.environment.mount import type_of
from pytest_pario.model import Pattern
from pytest_pario.patterns.check import count_unaligned
from pytest_pario.patterns.planning import plan
from pytest_pario.units import MiB

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Direct:
    """Bytes of which everything must be a multiple, or why O_DIRECT is impossible; never buffered calls instead."""

    unit: int
    problem: str = ""


def look_direct(comm: MPI.Intracomm, directory: Path, pattern: Pattern) -> Direct:
    """Try O_DIRECT in a directory on root, and hold a row against what it needs; the same on all ranks."""
    kind, able = mpi.on_root(comm, lambda: (type_of(Context(directory)), _try(directory / "probe")))
    if kind in MEMORY:
        return Direct(0, f"{kind} accepts O_DIRECT and ignores it")
    if not able.works:
        return Direct(0, f"O_DIRECT does not work in this directory ({able.source})")
    unit = max(able.memory_align, able.offset_align)
    odd = sum(count_unaligned(table, unit) for table in plan(pattern, comm.size).ranks)
    return Direct(unit, f"O_DIRECT moves multiples of {unit} B here, and {odd} extents are none" if odd else "")


def _try(path: Path) -> DirectIO:
    path.write_bytes(bytes(MiB))
    try:
        return direct_io(str(path))
    finally:
        path.unlink()
