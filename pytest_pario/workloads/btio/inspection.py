"""Check a file of BTIO that anybody has written, without MPI and plane by plane, so that any class fits into memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pytest_pario.errors import ParameterError
from pytest_pario.patterns.multipartition import HALO, Cell
from pytest_pario.workloads.btio.classes import CLASSES, COMPONENTS, ProblemClass, class_of_size
from pytest_pario.workloads.btio.engine import Workspace, choose_engine
from pytest_pario.workloads.btio.exact import Floats, exact_solution
from pytest_pario.workloads.btio.jobs import WIDTH
from pytest_pario.workloads.btio.marks import sum_squares
from pytest_pario.workloads.btio.result import Comparison
from pytest_pario.workloads.btio.solver import Solver, norms
from pytest_pario.workloads.btio.storage import CellStorage

POINT_TOLERANCE = 1e-11
"""Most deviation of a number, relative to the largest of its component; the NAS program itself differs by 1.5e-15."""
CHEAP_WORK = 64**3 * 200
"""Points and steps that are computed anew unless somebody says not to: up to class A, some seconds."""
SLAB_BYTES = 256 << 20
"""Memory of the part of the grid whose residual is computed at a time."""


@dataclass(frozen=True)
class Inspection:
    """What was found in a file."""

    path: str
    problem: ProblemClass
    fields: tuple[tuple[float, ...], ...]
    """Five norms of the deviation of each field from the exact solution."""
    comparisons: tuple[Comparison, ...]
    findings: tuple[str, ...]
    """What is wrong, in words."""
    point_deviation: float | None = None
    """Largest relative deviation of a number from the one computed here; None where the fields were not computed."""

    @property
    def verified(self) -> bool:
        """Whether the file is that of a right run."""
        return not self.findings and all(one.holds for one in self.comparisons)


def inspect_file(
    path: Path, problem: ProblemClass | None = None, engine: str = "auto", solve: bool | None = None
) -> Inspection:
    """Norms of every field, the published mean, the residual of the last field; with `solve` every single number.

    The mean and the residual allow 1e-8 of a norm, which a change of a single number hardly moves. To compute the
    fields anew takes seconds up to class A; None does that where compiled code can.
    """
    if not path.is_file():
        raise ParameterError("FILE", str(path), "a file that BTIO has written", "command line")
    size = path.stat().st_size
    chosen = problem or class_of_size(size)
    if chosen is None:
        sizes = ", ".join(f"{one.name} {one.total_bytes}" for one in CLASSES.values())
        raise ParameterError("class", None, f"given: no class has a file of {size} bytes ({sizes})", "command line")
    findings = _check_size(size, chosen)
    count = min(size // chosen.field_bytes, chosen.fields)
    fields, marks = _look_at_fields(path, chosen, count)
    findings += _check_fields(fields, marks)
    if not np.isfinite(np.array(fields)).all() and _is_swapped(path, chosen):
        findings = ["the bytes of the numbers are in the other order (high byte first)", *findings[:1]]
    solving = _is_cheap(chosen, engine) if solve is None else solve
    deviation = None
    if solving and not findings:
        deviation, worst = compare_points(path, chosen, engine)
        findings += [worst] if deviation > POINT_TOLERANCE else []
    found: tuple[Comparison, ...] = ()
    if count == chosen.fields:
        mean = np.array(fields).sum(axis=0) / count
        residual = norms(residual_sums(_planes(path, chosen, count - 1), chosen, engine), chosen)
        found = (_compare("delta", mean, chosen.delta), _compare("residual", residual, chosen.residual))
    return Inspection(str(path), chosen, tuple(fields), found, tuple(findings), deviation)


def _compare(name: str, values: Floats, expected: tuple[float, float, float, float, float] | None) -> Comparison:
    return Comparison(name, tuple(float(one) for one in values), expected)


def _check_size(size: int, problem: ProblemClass) -> list[str]:
    if size == problem.total_bytes:
        return []
    whole, rest = divmod(size, problem.field_bytes)
    return [
        f"the file has {size} bytes, class {problem.name} has {problem.total_bytes}: {whole} whole fields"
        f"{f' and {rest} bytes' if rest else ''} in place of {problem.fields}"
    ]


def _planes(path: Path, problem: ProblemClass, field: int) -> Floats:
    n = problem.size
    return np.memmap(path, np.float64, "r", field * problem.field_bytes, (n, n, n, COMPONENTS))


def _look_at_fields(path: Path, problem: ProblemClass, count: int) -> tuple[list[tuple[float, ...]], list[int | None]]:
    """Norms and checksum of each field; None where all bytes are zero."""
    exact = exact_solution(problem.size).planes()
    room = np.empty((problem.size, problem.size, COMPONENTS))
    fields, marks = [], []
    for number in range(count):
        sums, mark, any_set = np.zeros(COMPONENTS), 0, False
        for k, plane in enumerate(_planes(path, problem, number)):
            held = np.array(plane)
            mark = zlib.crc32(held.data, mark)
            any_set = any_set or bool(held.any())
            # numbers that are none are told in words below
            with np.errstate(all="ignore"):
                sums += sum_squares(held, exact, k, room)
        fields.append(tuple(float(one) for one in norms(sums, problem)))
        marks.append(mark if any_set else None)
    return fields, marks


def _check_fields(fields: list[tuple[float, ...]], marks: list[int | None]) -> list[str]:
    """What δu, a mean over all fields, cannot see: the deviation of a solution only ever falls from field to field."""
    findings = []
    for number, (norm, mark) in enumerate(zip(fields, marks, strict=True)):
        if mark is None:
            findings.append(f"field {number} is missing: all its bytes are zero")
        elif not np.isfinite(norm).all():
            findings.append(f"field {number} holds numbers that are none")
        elif mark in marks[:number]:
            findings.append(f"field {number} holds the same bytes as field {marks.index(mark)}")
        elif number and marks[number - 1] is not None and norm[0] >= fields[number - 1][0]:
            findings.append(
                f"field {number} is further from the exact solution than field {number - 1}: "
                "exchanged, damaged or stale"
            )
    return findings


def _is_cheap(problem: ProblemClass, engine: str) -> bool:
    work = problem.size**3 * problem.steps
    return work <= CHEAP_WORK and choose_engine(engine)[0] == "compiled"


def _is_swapped(path: Path, problem: ProblemClass) -> bool:
    """Whether the first number, read with its bytes in the other order, is what the boundary has in every field."""
    first = np.fromfile(path, np.dtype(np.float64).newbyteorder(), 1)
    exact = float(exact_solution(problem.size).plane(0)[0, 0, 0])
    return bool(len(first)) and abs(float(first[0]) - exact) < 1e-6


def compare_points(path: Path, problem: ProblemClass, engine: str = "auto") -> tuple[float, str]:
    """Compute all fields anew and compare every number: the largest relative deviation, and where it is, in words.

    A number is compared with the largest of its component, since those of a compiler's rounding are absolute.
    """
    solver = Solver(problem, None, engine)
    solver.start()
    flat = np.empty(problem.size**3 * COMPONENTS)
    largest, where, number = 0.0, "", 0
    for step in range(1, problem.steps + 1):
        solver.step()
        if step % problem.interval and step != problem.steps:
            continue
        solver.pack(flat)
        ours = flat.reshape((problem.size,) * 3 + (COMPONENTS,))
        apart = np.abs(_planes(path, problem, number) - ours) / np.abs(ours).max(axis=(0, 1, 2))
        place = int(np.argmax(apart))
        if apart.flat[place] > largest:
            largest = float(apart.flat[place])
            z, y, x, m = (int(one) for one in np.unravel_index(place, apart.shape))
            offset = number * problem.field_bytes + place * 8
            where = (
                f"field {number}: component {m} at point ({x}, {y}, {z}), offset {offset}, deviates by {largest:.1e} "
                f"from the number computed here; at most {POINT_TOLERANCE:g} is allowed"
            )
        number += 1
    return largest, where


def residual_sums(planes: Floats, problem: ProblemClass, engine: str = "auto") -> Floats:
    """Sums of squares of the residual of a field of the shape (z, y, x, 5), slab by slab."""
    total = np.zeros(COMPONENTS)
    for first, count in _slabs(problem.size):
        storage = CellStorage(problem, Cell((0, 0, 0), (0, 0, first), (problem.size, problem.size, count)))
        worker = choose_engine(engine)[1](storage, Workspace(1))
        storage.set_exact()
        storage.set_scale(-1.0)
        worker.invert_density()
        worker.make_rhs()
        storage.forcing[...] = storage.rhs
        storage.set_scale(1.0)
        for k in range(max(first - HALO, 0), min(first + count + HALO, problem.size)):
            row = storage.u_memory[:COMPONENTS, k - first + HALO, HALO:-HALO, WIDTH : WIDTH + problem.size]
            row[...] = np.moveaxis(planes[k], 2, 0)
        worker.invert_density()
        worker.make_rhs()
        total += np.einsum("mkji,mkji->m", storage.rhs, storage.rhs)
    return total


def _slabs(size: int) -> Iterator[tuple[int, int]]:
    """First plane and number of planes of each part; 20 doubles per point are held."""
    depth = max(1, min(size, SLAB_BYTES // (160 * size * size)))
    for first in range(0, size, depth):
        yield first, min(depth, size - first)
