"""One rank of `pario bench btio`: solve a class without output and tell what it took as a line of JSON."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_pario import mpi

if TYPE_CHECKING:
    from mpi4py import MPI


def solve(comm: MPI.Intracomm, name: str) -> dict[str, Any]:
    """Solve a class, and tell how long it took to load what that needs."""
    begun = time.perf_counter()
    from pytest_pario.workloads.btio.classes import find_class
    from pytest_pario.workloads.btio.run import Run, run_btio

    imported_s = time.perf_counter() - begun
    result = run_btio(comm, Run(find_class(name), "none", memory_limit=1 << 60), Path())
    return {**result.plain(), "imported_s": imported_s, "ranks": comm.size}


if __name__ == "__main__":
    mpi.run_rank(lambda comm: solve(comm, sys.argv[1]))
