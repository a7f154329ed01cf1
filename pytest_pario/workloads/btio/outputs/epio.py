"""A file for each rank."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from pytest_pario.errors import FileAccessError, ShortTransferError
from pytest_pario.patterns.multipartition import Partition
from pytest_pario.workloads.btio.classes import POINT_BYTES
from pytest_pario.workloads.btio.outputs.descriptors import close, move_all, open_together
from pytest_pario.workloads.btio.outputs.protocol import Output, Site

LARGEST_RECORD = (1 << 31) - 9
"""A longer sequential record is cut into parts; a negative length says that there are more."""


class Epio(Output):
    """A file for each rank, one sequential record for each cell; faster, and not what the benchmark asks for."""

    name = "epio"
    conforming = False

    def __init__(self, site: Site) -> None:
        """Lay out the records of a field: lengths stand before and after the data."""
        super().__init__(site)
        cells = Partition(site.problem.size, site.comm.size, site.comm.rank).cells
        self._records = [part for cell in cells for part in record_parts(POINT_BYTES * cell.points)]
        self._writes, self._descriptor = True, -1
        self._pieces: list[Any] = []

    @property
    def path(self) -> Path:
        """The name ends with the rank."""
        return self.site.directory / f"btio.epio.out.{self.site.comm.rank:04d}"

    @property
    def is_keeper(self) -> bool:
        """Everybody."""
        return True

    @property
    def field_bytes(self) -> int:
        """Bytes of a field of this rank in its file."""
        return len(self.site.buffer) + 8 * len(self._records)

    @property
    def file_bytes(self) -> int:
        """Data and lengths of all records."""
        return self.site.problem.fields * self.field_bytes

    def open(self, *, writes: bool) -> None:
        """Every rank opens its own file."""
        self._writes = writes
        self._descriptor = open_together(self.site.comm, self.path, writes, True)
        memory, first = self.site.buffer.data, 0
        self._pieces = []
        for before, length, after in self._records:
            ends = [struct.pack("=i", before), struct.pack("=i", after)]
            head, tail = ends if writes else (bytearray(4), bytearray(4))
            self._pieces += [head, memory[first : first + length], tail]
            first += length

    def transfer(self, number: int) -> None:
        """All records of a field in one call, or in several where it is large."""
        place = number * self.field_bytes
        try:
            moved = move_all(self._descriptor, self._pieces, place, self._writes)
        except OSError as error:
            self.note(error)
            return
        if moved != self.field_bytes:
            self.note(ShortTransferError("epio", place, self.field_bytes, moved))
        self.moved_bytes += moved

    def settle(self) -> None:
        """Compare the lengths around each record with what they must be."""
        if self._writes or self.errors:
            return
        for number, (before, _, after) in enumerate(self._records):
            found = tuple(struct.unpack("=i", self._pieces[3 * number + end])[0] for end in (0, 2))
            if found != (before, after):
                text = f"record {number} has lengths {found} around it, not {(before, after)}"
                self.note(FileAccessError("read", str(self.path), "ERR_BAD_FILE", text, self.site.comm.rank))

    def close(self) -> None:
        """Close the descriptor."""
        close(self, self._descriptor)


def record_parts(length: int, most: int = LARGEST_RECORD) -> list[tuple[int, int, int]]:
    """(length before, bytes, length after) of the parts of a sequential record, as gfortran writes them."""
    sizes = [min(most, length - first) for first in range(0, length, most)]
    last = len(sizes) - 1
    return [(size if n == last else -size, size, size if n == 0 else -size) for n, size in enumerate(sizes)]
