"""The rows of the suite: programs of the study, scaled by profile. Pure (RES-04, RES-30..37, RES-41)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_pario.errors import ParameterError
from pytest_pario.model import Pattern
from pytest_pario.units import GiB, KiB, MiB
from pytest_pario.workloads.resonance.parameters import FSIZE, OF_MPI_IO_TEST, OF_NONCONTIG, VECLEN, Choices
from pytest_pario.workloads.resonance.programs import (
    INT,
    SEGMENTS,
    VARIANTS,
    coll_perf,
    demonstration,
    hpio,
    ior,
    mpi_io_test,
    noncontig,
)

STANDARD = Choices()


@dataclass(frozen=True)
class Row:
    """A program, and what its runs need beside the pattern."""

    pattern: Pattern
    apart: Pattern | None = None
    """What is run under `independent`; None makes the calls of the pattern independent ones."""
    call_barriers: bool = False
    warmup_rounds: int = 0
    uses: tuple[str, ...] = ()
    """Parameters that shape it, for the record (CONS-54)."""

    def under(self, strategy: str) -> Pattern:
        """What is run under a strategy, on the same file."""
        return self.apart if strategy == "independent" and self.apart is not None else self.pattern


@dataclass(frozen=True)
class Scale:
    """How much one profile moves: the same bytes along each axis, however they are cut."""

    total_bytes: int
    """Of the files of demo, mpi-io-test and noncontig: 10 GB in the study."""
    ior_bytes: int
    """Of the file of ior: 1 GB."""
    segments: tuple[int, ...]
    """Of demo, mpi-io-test and ior."""
    edges: tuple[int, ...]
    elements: tuple[int, ...]
    buffer_bytes: int
    """That one call of noncontig moves in total: 16 MB."""
    region_sizes: tuple[int, ...]
    regions: int
    """In the one call of HPIO: 4096."""
    shared_bytes: int
    """Of the files of two programs at once."""
    scaling_bytes: int
    """That mpi-io-test moves on any number of processes: 10 GB."""
    spacings: tuple[int, ...] = (128, 0)
    """Bytes between regions; 0 is what was published (RES-36)."""


def _kib(*sizes: int) -> tuple[int, ...]:
    return tuple(size * KiB for size in sizes)


# fmt: off
SCALES: Mapping[str, Scale] = {
    "quick":   Scale(2 * MiB, 2 * MiB, _kib(64),
                     (32,), (4096,), 1 * MiB, _kib(4), 64, 2 * MiB, 4 * MiB),
    "nightly": Scale(64 * MiB, 64 * MiB, _kib(32, 64, 256, 1024),
                     (64, 256), (4096, 16384, 65536), 16 * MiB, _kib(2, 16, 64), 512, 128 * MiB, 64 * MiB),
    "full":    Scale(10 * GiB, 1 * GiB, _kib(32, 64, 128, 256, 512, 1024),
                     (64, 128, 256, 512, 1024), (4096, 8192, 16384, 32768, 65536), 16 * MiB,
                     _kib(2, 4, 8, 16, 32, 64), 4096, 10 * GiB, 10 * GiB),
}
# fmt: on


def whole(total: int, unit: int) -> int:
    """The most that is not above `total` and consists of whole units, of which there is at least one."""
    return max(1, total // unit) * unit


def demo_row(segment: int, calls: int) -> Row:
    """The demonstration; processes by themselves make four contiguous calls for each collective one (RES-05)."""
    together, apart = demonstration(segment, calls), demonstration(segment, calls, coll=False)
    return Row(together, dataclasses.replace(apart, name=together.name))


def mpi_io_test_rows(scale: Scale, ranks: int, choices: Choices = STANDARD) -> Iterator[Row]:
    """mpi-io-test in blocks of each size, with a barrier before each timed call (RES-32)."""
    blocks = (choices.block,) if choices.block else scale.segments
    total = whole(scale.total_bytes, ranks * max(blocks))
    for block in blocks:
        pattern = mpi_io_test(block, choices.iterations or total // (ranks * block), choices.sync_each)
        yield Row(pattern, call_barriers=True, uses=OF_MPI_IO_TEST)


def noncontig_rows(scale: Scale, ranks: int, choices: Choices = STANDARD) -> Iterator[Row]:
    """Columns of each width in each variant; a call moves the whole vectors that the buffer holds (RES-34, RES-35)."""
    widths = (choices.elements,) if choices.elements else scale.elements
    length = choices.vector_length or ranks
    if length % ranks:
        raise ParameterError(VECLEN, length, f"a multiple of the {ranks} processes")
    more: dict[str, Any] = {
        "displacement": choices.displacement,
        "offset": choices.offset,
        "sync_after": choices.sync_after,
    }
    for elements in widths:
        buffer, calls = _calls_of(scale, choices, INT * elements * length, INT * max(widths) * length)
        for variant in VARIANTS:
            yield Row(noncontig(elements, buffer, calls, ranks, variant, **more), uses=OF_NONCONTIG)


def _calls_of(scale: Scale, choices: Choices, vector: int, largest: int) -> tuple[int, int]:
    """Bytes of a call over all processes, and number of calls; `largest` is the largest vector of the axis."""
    if choices.vectors is not None:
        # calls of one size: the buffer's share that divides the count
        most = max(1, scale.buffer_bytes // vector)
        each = next(count for count in range(min(most, choices.vectors), 0, -1) if choices.vectors % count == 0)
        return each * vector, choices.vectors // each
    total = choices.file_bytes or scale.total_bytes
    if choices.file_bytes is not None and total < largest:
        raise ParameterError(FSIZE, total, f"room for a vector of {largest} B at least")
    buffer = whole(min(scale.buffer_bytes, total), largest)
    return buffer, max(1, total // buffer)


def scaling_row(profile: str, ranks: int) -> Row:
    """mpi-io-test in segments of 1 MiB: a file of one size, whatever the number of processes (RES-40)."""
    calls = max(1, SCALES[profile].scaling_bytes // (ranks * MiB))
    return Row(mpi_io_test(MiB, calls), call_barriers=True)


def shared_patterns(profile: str, ranks: tuple[int, int]) -> tuple[Pattern, Pattern]:
    """Two programs that run at once in segments of 64 KiB, each on its number of ranks (RES-38)."""
    total, segment, (first, other) = SCALES[profile].shared_bytes, 64 * KiB, ranks
    demo = demonstration(segment, max(1, total // (SEGMENTS * first * segment)))
    return demo, mpi_io_test(segment, max(1, total // (other * segment)))


def rows(profile: str, ranks: int, choices: Choices = STANDARD) -> list[Row]:
    """Every program of a profile, on so many ranks."""
    scale = SCALES[profile]
    # whole calls of the largest segments, so that all sizes of segments move the same bytes
    line = ranks * max(scale.segments)
    demo, ior_bytes = whole(scale.total_bytes, SEGMENTS * line), whole(scale.ior_bytes, line)
    return [
        *(demo_row(size, demo // (SEGMENTS * ranks * size)) for size in scale.segments),
        *mpi_io_test_rows(scale, ranks, choices),
        *(Row(ior(size, ior_bytes // (ranks * size))) for size in scale.segments),
        # RES-31: one untimed round first
        *(Row(coll_perf(edge), warmup_rounds=1) for edge in scale.edges),
        *noncontig_rows(scale, ranks, choices),
        *(
            Row(hpio(size, scale.regions, spacing, variant))
            for size in scale.region_sizes
            for spacing in scale.spacings
            for variant in VARIANTS
            if spacing or not variant.startswith("nc")
        ),
    ]
