"""Independent MPI-IO."""

from __future__ import annotations

from pytest_pario import mpi
from pytest_pario.access.calls import CALLS
from pytest_pario.access.guard import GuardedFile
from pytest_pario.access.loops import Series, mpi_series
from pytest_pario.workloads.btio.outputs.looped import Looped

DOUBLE_BYTES = 8


class Simple(Looped):
    """Independent MPI-IO, one call for each row of each cell, at an explicit offset in doubles."""

    name = "simple"
    api = "mpiio"

    def open(self, *, writes: bool) -> None:
        """Open and set a view of doubles."""
        codes = mpi.load()
        amode = codes.MODE_CREATE | codes.MODE_RDWR if writes else codes.MODE_RDONLY
        self._target = GuardedFile.open(self.site.comm, self.path, amode, dict(self.site.hints) or None)
        self._target.set_view(0, codes.DOUBLE)
        self.hints_in_force = self._target.get_hints()
        self._writes = writes

    def _series(self, number: int) -> Series:
        starts, offsets, lengths = self._rows
        call = CALLS["write_at" if self._writes else "read_at"]
        places = (offsets + number * self.site.problem.field_bytes) // DOUBLE_BYTES
        return mpi_series(
            self._target.raw, call, self.site.buffer, starts, lengths, offsets=places, etype_bytes=DOUBLE_BYTES
        )

    def close(self) -> None:
        """Close on all ranks."""
        try:
            self._target.close()
        except Exception as error:
            self.note(error)
