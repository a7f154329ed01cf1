"""List I/O: one request of a rank for many runs of the file, by a view of its own (MODEL-08, RES-17).

A view is set by all ranks of a handle together, so that a rank that asks for lists by itself opens the file once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_pario import mpi
from pytest_pario.model import Int64
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.strategies.runs import Runs

if TYPE_CHECKING:
    from mpi4py import MPI

    from pytest_pario.strategies.files import MpiPending

NO_SIEVING = {"romio_ds_read": "disable", "romio_ds_write": "disable"}
"""The library must move the runs and nothing between them: what lies there may be another agent's."""
DRIVERS = ("UFS", "LUSTRE", "GPFS")
"""Drivers of ROMIO that do as they are told with this; that for NFS writes back what lies between all the same."""


class Lists:
    """A handle of one rank alone, whose view is the list that was asked for last."""

    def __init__(self, handle: MPI.File) -> None:
        """The handle is closed with the lists."""
        self._handle, self._byte = handle, mpi.load().BYTE
        self._under_way: MpiPending | None = None

    def start(self, runs: Runs, data: Bytes, pending: MpiPending, *, writes: bool) -> bool:
        """Ask for all runs at once; False where the file ends before them, for the library would not say so."""
        if self._under_way is not None:
            # a view may change only when nothing is under way
            self._under_way.end()
        if not writes and int(runs.begins[-1] + runs.sizes[-1]) > self._handle.Get_size():
            return False
        begin, end = int(runs.places[0]), int(runs.places[-1] + runs.sizes[-1])
        kinds = [_type_of(self._byte, runs.begins, runs.sizes)]
        try:
            self._handle.Set_view(0, self._byte, kinds[0])
            if end - begin == runs.total_bytes:
                room = [data[begin:end], runs.total_bytes, self._byte]
            else:
                kinds.append(_type_of(self._byte, runs.places, runs.sizes))
                room = [data, 1, kinds[1]]
            pending.requests.append((self._handle.Iwrite_at if writes else self._handle.Iread_at)(0, room))
            self._under_way = pending
        finally:
            for kind in kinds:
                kind.Free()
        return True

    def close(self) -> None:
        """Close the handle; collective on this rank alone."""
        if self._under_way is not None:
            self._under_way.end()
        self._handle.Close()


def open_lists(path: str, shared: MPI.File) -> Lists | None:
    """Open the file of a handle once more for one rank; None where a list would not be what it says.

    That is where the file may be open only once, where calls are atomic, and where the library may sieve.
    """
    codes = mpi.load()
    amode = shared.Get_amode()
    if amode & (codes.MODE_UNIQUE_OPEN | codes.MODE_SEQUENTIAL) or shared.Get_atomicity():
        return None
    hints = _hints(shared)
    if hints.get("romio_filesystem_type", "").partition(":")[0] not in DRIVERS:
        return None
    info = codes.Info.Create(hints | NO_SIEVING)
    try:
        access = amode & (codes.MODE_RDONLY | codes.MODE_WRONLY | codes.MODE_RDWR)
        handle = codes.File.Open(codes.COMM_SELF, path, access, info)
    finally:
        info.Free()
    if NO_SIEVING.items() <= _hints(handle).items():
        return Lists(handle)
    handle.Close()
    return None


def _hints(handle: MPI.File) -> dict[str, str]:
    info = handle.Get_info()
    try:
        return dict(info.items())
    finally:
        info.Free()


def _type_of(byte: MPI.Datatype, begins: Int64, sizes: Int64) -> MPI.Datatype:
    """The ranges as a datatype; numbers of Python are taken in faster than those of NumPy."""
    size = int(sizes[0])
    if (sizes == size).all():
        kind = byte.Create_hindexed_block(size, begins.tolist())
    else:
        kind = byte.Create_hindexed(sizes.tolist(), begins.tolist())
    return kind.Commit()
