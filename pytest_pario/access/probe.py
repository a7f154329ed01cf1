"""What MPI-IO can do in a directory: run by `pario doctor` under the launcher, on two ranks.

    mpiexec -n 2 python -m pytest_pario.access.probe DIRECTORY

Prints one JSON line. Every probe has a file of its own and removes it; one that fails says how and stops nobody else.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_pario import mpi

if TYPE_CHECKING:
    from mpi4py import MPI

# values that a library which knows the hint can take
TRIED = {
    "cb_buffer_size": "4194304",
    "cb_nodes": "2",
    "cb_config_list": "*:*",
    "romio_cb_write": "enable",
    "romio_cb_read": "enable",
    "romio_ds_write": "disable",
    "romio_ds_read": "disable",
    "ind_rd_buffer_size": "1048576",
    "ind_wr_buffer_size": "1048576",
    "romio_no_indep_rw": "true",
    "striping_unit": "1048576",
    "striping_factor": "2",
    "IBM_largeblock_io": "true",
}


def probe_hints(comm: MPI.Intracomm, path: Path) -> dict[str, Any]:
    """Which hints come back as they were asked for, which with another value, and which not at all."""
    with _opened(comm, path, TRIED) as handle:
        info = handle.Get_info()
        told = dict(info)
        info.Free()
    return {
        "honoured": sorted(key for key, value in TRIED.items() if told.get(key) == value),
        "changed": sorted(key for key, value in TRIED.items() if key in told and told[key] != value),
        "dropped": sorted(key for key in TRIED if key not in told),
        "in_force": told,
    }


def probe_collective(comm: MPI.Intracomm, path: Path) -> dict[str, Any]:
    """An interleaved collective write comes back as it was written."""
    with _opened(comm, path, {"romio_cb_write": "enable"}) as handle:
        for block in range(4):
            handle.Write_at_all((block * comm.size + comm.rank) * 1000, bytes([1 + comm.rank]) * 1000)
        handle.Sync()
    comm.Barrier()
    wanted = b"".join(bytes([1 + rank]) * 1000 for _ in range(4) for rank in range(comm.size))
    return {"right": path.read_bytes() == wanted}


def probe_shared_pointer(comm: MPI.Intracomm, path: Path) -> dict[str, Any]:
    """Ordered writes through the shared pointer come in rank order."""
    with _opened(comm, path, {}) as handle:
        handle.Write_ordered(bytes([1 + comm.rank]) * 100)
        handle.Sync()
    comm.Barrier()
    return {"right": path.read_bytes() == b"".join(bytes([1 + rank]) * 100 for rank in range(comm.size))}


def probe_atomic(comm: MPI.Intracomm, path: Path) -> dict[str, Any]:
    """Overlapping writes in atomic mode leave one writer's data."""
    with _opened(comm, path, {}) as handle:
        handle.Set_atomicity(True)
        handle.Write_at(0, bytes([1 + comm.rank]) * 100_000)
    comm.Barrier()
    return {"right": len(set(path.read_bytes())) == 1}


def probe_clock(comm: MPI.Intracomm, _path: Path) -> dict[str, Any]:
    """Whether MPI_Wtime is said to be global, and how far ranks are apart after a barrier."""
    codes = mpi.load()
    comm.Barrier()
    times = comm.allgather(codes.Wtime())
    return {"global": bool(comm.Get_attr(codes.WTIME_IS_GLOBAL)), "apart_s": max(times) - min(times)}


PROBES: dict[str, Callable[[Any, Path], dict[str, Any]]] = {
    "hints": probe_hints,
    "collective": probe_collective,
    "shared_pointer": probe_shared_pointer,
    "atomic": probe_atomic,
    "clock": probe_clock,
}


@contextlib.contextmanager
def _opened(comm: MPI.Intracomm, path: Path, hints: dict[str, str]) -> Any:
    codes = mpi.load()
    handle = codes.File.Open(comm, str(path), codes.MODE_CREATE | codes.MODE_RDWR, codes.Info.Create(hints))
    try:
        yield handle
    finally:
        handle.Close()


def main(directory: str) -> None:
    """Run every probe and print what was found on rank 0, after each one, so that a hang loses only itself."""
    comm = mpi.load().COMM_WORLD
    pid = comm.bcast(os.getpid(), root=0)
    _tell(comm, "library", {"version": mpi.library_version(), "ranks": comm.size})
    for name, probe in PROBES.items():
        path = Path(directory) / f"pario-probe-{pid}-{name}"
        try:
            found = probe(comm, path)
        except (mpi.load().Exception, OSError) as error:
            found = {"error": " ".join(str(error).split())[:200]}
        told = comm.gather(found, root=0) or [found]
        comm.Barrier()
        if comm.rank == 0:
            path.unlink(missing_ok=True)
        _tell(comm, name, next((one for one in told if "error" in one or one.get("right") is False), told[0]))


def _tell(comm: MPI.Intracomm, name: str, found: dict[str, Any]) -> None:
    if comm.rank == 0:
        sys.stdout.write(json.dumps({"probe": name, **found}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
