"""Repetitions and segment of the size-driven types, and every pattern as a row of the common model. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_pario.model import Derived, Fixed, Open, Pattern, Plan, Repeat, Timed
from pytest_pario.patterns.planning import chain
from pytest_pario.patterns.segmented import Segmented
from pytest_pario.patterns.strided import Strided
from pytest_pario.units import MiB
from pytest_pario.workloads.beffio.table import FILL, ROWS, Row, rows_of

ETYPE = 8
"""The elementary type is a double (BEFF-12)."""
SOURCES = {0: (1, 3, 4, 5, 6, 7, 8), 1: tuple(range(10, 17)), 2: tuple(range(18, 25))}
"""Patterns of types 0, 1 and 2 from which chunk j of (MPART, 1M, 32k, 1k, 32k+8, 1k+8, 1M+8) derives; p2 is skipped."""
SCALE = 1 << 40
"""Steps of the factor that scales repetitions down to a limit."""
DERIVED_FIRST = {3: 25, 4: 34}
"""First pattern of the size-driven types; chunk j is pattern first + 1 + j, the fill first + 8."""


@dataclass(frozen=True)
class Segment:
    """What types 3 and 4 write in one partition (BEFF-18..20)."""

    repetitions: tuple[int, ...]
    """Of the seven chunk sizes."""
    length: int
    """LSEG: bytes of each process."""
    fill: int
    """Bytes that the last call adds so that the file has no holes; may be 0."""
    capped: bool = False
    """Whether a limit on the segment scaled the repetitions down."""
    missing: tuple[int, ...] = ()
    """Patterns whose repetitions were not known and so did not count."""

    def count(self, row: Row) -> int:
        """Repetitions of a pattern of type 3 or 4."""
        place = row.number - DERIVED_FIRST[row.type]
        return self.repetitions[place - 1] if 1 <= place <= len(self.repetitions) else 1


def derive_segment(counts: Mapping[int, int], mpart: int, align: int = MiB, max_segment: int | None = None) -> Segment:
    """Derive repetitions, LSEG and fill from the repetitions of types 0 to 2 by pattern number.

    A pattern that was not run does not count; where none of the three was run, the chunk is moved once. A limit is kept
    wherever one call of each chunk size does.
    """
    repetitions, missing = [], []
    for zero, one, two in zip(SOURCES[0], SOURCES[1], SOURCES[2], strict=True):
        # R3_j = min(R0_j * L_j / l_j, 10 * R1_j, R2_j)
        chunks = ROWS[zero].call_bytes(mpart) // ROWS[zero].chunk_bytes(mpart)
        factors = {zero: chunks, one: 10, two: 1}
        known = [counts[number] * factor for number, factor in factors.items() if counts.get(number)]
        missing += [number for number in factors if not counts.get(number)]
        repetitions.append(min(known, default=1))
    capped = max_segment is not None and _length(repetitions, mpart, align) > max_segment
    if capped and max_segment is not None:
        repetitions = _scale_down(repetitions, mpart, align, max_segment)
    length = _length(repetitions, mpart, align)
    return Segment(tuple(repetitions), length, length - _moved(repetitions, mpart), capped, tuple(sorted(missing)))


def _scale_down(repetitions: list[int], mpart: int, align: int, most: int) -> list[int]:
    """Scale by the largest factor with which the segment is not longer than `most`, each at least 1 (BEFF-20)."""

    def scaled(part: int) -> list[int]:
        return [max(1, r * part // SCALE) for r in repetitions]

    fitting = bisect_right(range(SCALE + 1), most, key=lambda part: _length(scaled(part), mpart, align))
    return scaled(max(0, fitting - 1))


def _moved(repetitions: list[int], mpart: int) -> int:
    """Bytes of a process but for the fill: 1 MiB + sum_j R3_j * l_j."""
    sizes = [ROWS[number].chunk_bytes(mpart) for number in SOURCES[2]]
    return ROWS[DERIVED_FIRST[3]].chunk + sum(r * size for r, size in zip(repetitions, sizes, strict=True))


def _length(repetitions: list[int], mpart: int, align: int) -> int:
    # LSEG = ceil_to(1 MiB + sum_j R3_j * l_j, 1 MiB)
    return -(-_moved(repetitions, mpart) // align) * align


@dataclass(frozen=True)
class Shape:
    """What all patterns of a partition have in common."""

    mpart: int
    noshared: bool = False
    """The shared-pointer type uses individual pointers (BEFF-15)."""
    unique: bool = False
    """Open with MPI_MODE_UNIQUE_OPEN (BEFF-33)."""
    seconds: float = 1.0
    """T_n: scheduled time of one partition."""
    shares: int = 150
    """S: units of time in a partition."""


def pattern_of(row: Row, shape: Shape, segment: Segment | None = None) -> Pattern:
    """A pattern as a row of the model; types 3 and 4 can be placed only with their segment (MODEL-08)."""
    before = rows_of(row.type)[0].number < row.number
    chunk = row.chunk_bytes(shape.mpart)
    layout: Strided | Segmented
    if row.type == 0:
        layout = Strided(chunk, per_call=row.call_bytes(shape.mpart) // chunk)
    elif row.type == 1:
        layout = Strided(chunk)
    elif row.type == 2:
        layout = Segmented(0, (chunk,))
    else:
        length, fill = (segment.length, segment.fill) if segment else (0, 0)
        layout = Segmented(length, (fill if row.chunk == FILL else chunk,))
    repeat: Repeat = Timed(shape.seconds, row.units, shape.shares) if row.units else Fixed()
    if row.type >= 3 and row.units:
        place = row.number - DERIVED_FIRST[row.type] - 1
        repeat = Derived(tuple(ROWS[SOURCES[kind][place]].name for kind in (0, 1, 2)))
    return Pattern(
        f"{row.kind}-{row.name}",
        layout,
        coll=row.type in (0, 1, 4),
        pointer="shared" if row.type == 1 and not shape.noshared else "individual",
        files="each" if row.type == 2 else "shared",
        open=Open(unique=shape.unique),
        sync="per_pattern",
        repeat=repeat,
        metric="beff_type",
        etype=ETYPE,
        after=f"{row.kind}-{ROWS[row.number - 1].name}" if before else None,
    )


def plans_of(kind: int, n: int, shape: Shape, counts: Mapping[int, int], segment: Segment | None) -> tuple[Plan, ...]:
    """The plans of all patterns of a type in its one file; a pattern that was not run takes no room (BEFF-13..19)."""
    rows = rows_of(kind)
    patterns = [pattern_of(row, shape, segment) for row in rows]
    return chain(patterns, n, [counts.get(row.number, 0) for row in rows])
