"""What is known of a field when it is written, and what is found when it is read back (BT §8, §9.4).

The published norms are a mean over all fields, in which two exchanged fields do not show; so every plane of every field
leaves a checksum, and what differs on the way back is named.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_pario.patterns.multipartition import Partition
from pytest_pario.workloads.btio.classes import COMPONENTS, POINT_BYTES, ProblemClass
from pytest_pario.workloads.btio.exact import Floats, Planes, Separable, exact_solution
from pytest_pario.workloads.btio.solver import cut


@dataclass(frozen=True, eq=False)
class Mark:
    """What one rank knows of its part of a field."""

    sums: Floats
    """Sums of the squared deviations from the exact solution, shape (5,)."""
    planes: npt.NDArray[np.uint32]
    """Checksum of each plane of each cell."""
    is_zero: bool
    """Whether all bytes are zero."""

    def equals(self, other: Mark) -> bool:
        """Whether the bytes are the same."""
        return np.array_equal(self.planes, other.planes)


class Marker:
    """Marks the fields of one rank, whose cells lie one after the other in a buffer."""

    def __init__(self, problem: ProblemClass, partition: Partition) -> None:
        """Lay out the exact solution on the cells."""
        self._partition = partition
        exact = exact_solution(problem.size)
        self._exact = [exact.part(cell.starts, cell.shape).planes() for cell in partition.cells]
        self._rooms = [np.empty((cell.shape[1], cell.shape[0], COMPONENTS)) for cell in partition.cells]

    def mark(self, flat: Floats) -> Mark:
        """Look at every number once."""
        sums, planes, any_set = np.zeros(COMPONENTS), [], False
        for part, exact, room in zip(cut(flat, self._partition), self._exact, self._rooms, strict=True):
            for k in range(len(part)):
                planes.append(zlib.crc32(part[k].data))
                any_set = any_set or bool(part[k].any())
                sums += sum_squares(part[k], exact, k, room)
        return Mark(sums, np.array(planes, dtype=np.uint32), not any_set)


def sum_squares(plane: Floats, exact: Planes, k: int, room: Floats) -> Floats:
    """Sums over a plane of (u - e)^2, by component."""
    exact.fill(k, room)
    np.subtract(plane, room, out=room)
    np.multiply(room, room, out=room)
    # rows first, where memory is contiguous
    total: Floats = room.reshape(len(room), -1).sum(axis=0).reshape(-1, COMPONENTS).sum(axis=0)
    return total


def synthetic_field(problem: ProblemClass, field: int, seed: int) -> Separable:
    """A field of replay: the exact solution and something that depends on place, component, field and run."""
    exact, n = exact_solution(problem.size), problem.size
    rng = np.random.default_rng((seed, field))
    # slopes of the deviation in x, y and z, and one constant; each component has its own
    slopes = rng.uniform(0.5, 2.0, (4, COMPONENTS))
    at = np.arange(n)[:, None] / (n - 1)
    return exact + Separable(slopes[3] + at * slopes[0], at * slopes[1], at * slopes[2])


def fill(flat: Floats, partition: Partition, field: Separable) -> None:
    """Put a rank's part of a separable field into its buffer."""
    for part, cell in zip(cut(flat, partition), partition.cells, strict=True):
        planes = field.part(cell.starts, cell.shape).planes()
        for k in range(len(part)):
            planes.fill(k, part[k])


@dataclass(frozen=True)
class FieldDamage:
    """A field that came back otherwise than it was written."""

    path: str
    field: int
    fields: int
    rank: int
    planes: int
    """Planes of this rank's cells that differ."""
    of: int
    offset: int
    """Where in the file the first of them begins."""
    guess: str

    def __str__(self) -> str:
        return (
            f"{self.path}: field {self.field} of {self.fields} is not what was written: "
            f"{self.planes} of {self.of} planes of rank {self.rank} differ, "
            f"the first at offset {self.offset}; {self.guess}"
        )


def find_damage(
    path: str, problem: ProblemClass, partition: Partition, written: Sequence[Mark], found: Sequence[Mark]
) -> FieldDamage | None:
    """The first field of this rank that differs, and what has happened to it as far as it shows."""
    for number, (mine, theirs) in enumerate(zip(written, found, strict=True)):
        if mine.equals(theirs):
            continue
        differing = np.flatnonzero(mine.planes != theirs.planes)
        offset = number * problem.field_bytes + _plane_offset(partition, int(differing[0]))
        guess = _guess(written, number, theirs)
        return FieldDamage(
            path, number, problem.fields, partition.rank, len(differing), len(mine.planes), offset, guess
        )
    return None


def _guess(written: Sequence[Mark], number: int, found: Mark) -> str:
    if found.is_zero:
        return "all bytes are zero: the field is missing"
    for other, mark in enumerate(written):
        if other != number and mark.equals(found):
            return f"it holds field {other}: fields were exchanged, or written to the wrong place"
    # planes at the boundary of the grid are the same in all fields of all solved runs
    mine = written[number].planes
    moving = np.any([mark.planes != mine for mark in written], axis=0)
    if (mine != found.planes)[moving].all():
        return "no plane is of this run: a stale file, or somebody else's"
    return "some bytes were changed or lost"


def _plane_offset(partition: Partition, number: int) -> int:
    """Where in a field a plane of a rank begins."""
    for cell in partition.cells:
        (x, y, z), depth = cell.starts, cell.shape[2]
        if number < depth:
            return POINT_BYTES * (x + partition.size * (y + partition.size * (z + number)))
        number -= depth
    raise IndexError(number)
