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

EXCHANGES = 20
"""Messages to each rank; the fastest one tells most of its clock."""

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
    """Whether MPI_Wtime is said to be global, and how far the clocks of other ranks are from root's (CONS-30)."""
    found = [_exchange(comm, rank) for rank in range(1, comm.size)]
    offsets = [offset_of(one) for one in found if one]
    apart, within = max(offsets, key=lambda one: abs(one[0]), default=(0.0, 0.0))
    is_global = bool(comm.Get_attr(mpi.load().WTIME_IS_GLOBAL))
    return {"global": is_global, "apart_s": abs(apart), "within_s": within}


def _exchange(comm: MPI.Intracomm, rank: int) -> list[tuple[float, float, float]]:
    """Root's clock before and after an answer, and the answer: the other's clock in between."""
    clock, found = mpi.load().Wtime, []
    for _ in range(EXCHANGES):
        if comm.rank == 0:
            before = clock()
            comm.send(None, rank)
            told = comm.recv(source=rank)
            found.append((before, told, clock()))
        elif comm.rank == rank:
            comm.recv(source=0)
            comm.send(clock(), 0)
    return found


def offset_of(exchanges: list[tuple[float, float, float]]) -> tuple[float, float]:
    """How far the other clock is ahead, and within what: by the exchange that took least."""
    before, told, after = min(exchanges, key=lambda one: one[2] - one[0])
    # the answer was given somewhere between the two readings
    return told - (before + after) / 2, (after - before) / 2


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
    """Run every probe and print what was found on rank 0, after each one: a hang loses only itself and those after."""
    comm = mpi.load().COMM_WORLD
    pid = comm.bcast(os.getpid(), root=0)
    _tell(comm, "library", {"version": mpi.library_version(), "ranks": comm.size, "pid": pid})
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
