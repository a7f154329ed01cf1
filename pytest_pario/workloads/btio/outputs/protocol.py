"""What a subtype has to offer: files that take one rank's buffer as a field, and give it back (BT §9.2).

Errors are noted, not raised, so that no rank is left waiting in the solver's messages; `errors` is looked at by all
ranks together when the file is closed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from pytest_pario import mpi
from pytest_pario.model import Int64
from pytest_pario.patterns.multipartition import Multipartition
from pytest_pario.units import KiB
from pytest_pario.workloads.btio.classes import POINT_BYTES, ProblemClass

if TYPE_CHECKING:
    from mpi4py import MPI

FRONT = 68 * KiB
"""Bytes before the buffer, where a subtype keeps what it still holds back of the field before."""


@dataclass
class Site:
    """Where and by whom fields are written; the same for every subtype."""

    comm: MPI.Intracomm
    problem: ProblemClass
    directory: Path
    room: npt.NDArray[np.uint8]
    """`FRONT` bytes, and then the buffer."""
    hints: Mapping[str, str] = field(default_factory=dict)
    loop: str = "auto"

    @property
    def buffer(self) -> npt.NDArray[np.uint8]:
        """The rank's cells one after the other."""
        return self.room[FRONT:]

    @property
    def rows(self) -> tuple[Int64, Int64, Int64]:
        """Start in the buffer, offset in a field and length of each row of the rank's cells."""
        table = Multipartition(self.problem.size, POINT_BYTES).calls(self.comm.rank, self.comm.size)
        starts = np.cumsum(table.lengths) - table.lengths
        return starts, table.offsets, table.lengths

    @property
    def points(self) -> int:
        """Points of the rank."""
        return len(self.buffer) // POINT_BYTES


class Output(ABC):
    """Files of one subtype, as one rank has them open."""

    name: ClassVar[str]
    conforming: ClassVar[bool] = True
    """Whether all fields end up in one file, as the benchmark demands."""
    collective: ClassVar[bool] = False
    api: ClassVar[str] = "posix"

    def __init__(self, site: Site) -> None:
        """Nothing is opened yet."""
        self.site = site
        self.errors: list[Exception] = []
        self.moved_bytes = 0
        self.hints_in_force: dict[str, str] = {}

    @property
    def path(self) -> Path:
        """The file that this rank writes to."""
        return self.site.directory / f"btio.{self.name}.out"

    @property
    def file_bytes(self) -> int:
        """Bytes of that file in the end."""
        return self.site.problem.total_bytes

    @property
    def is_keeper(self) -> bool:
        """Whether this rank makes and removes that file."""
        return self.site.comm.rank == 0

    def remove(self) -> None:
        """Remove what is there, of this run or of an earlier one; an error is raised on all ranks. Collective."""
        mpi.together(self.site.comm, f"remove {self.path}", self.discard)

    def discard(self) -> None:
        """Remove the file on the rank that keeps it, without waiting for anybody."""
        if self.is_keeper:
            self.path.unlink(missing_ok=True)

    @abstractmethod
    def open(self, *, writes: bool) -> None:
        """Open for writing or for reading; its errors are raised on all ranks."""

    def prepare(self, number: int) -> None:  # noqa: B027 - not every subtype has something to lay out
        """Lay out the calls of a field, before the clock runs."""

    @abstractmethod
    def transfer(self, number: int) -> None:
        """Move the buffer to or from a field."""

    def settle(self) -> None:  # noqa: B027 - not every subtype has something to count
        """Count what the last transfer moved, after the clock has stopped."""

    @abstractmethod
    def close(self) -> None:
        """Close on this rank, or on all of them; errors are noted."""

    def note(self, error: Exception) -> None:
        """Keep an error until all ranks can hear of it."""
        self.errors.append(error)
