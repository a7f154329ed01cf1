"""The rows of the suite: programs of the study, scaled by profile. Pure (RES-04, RES-30..37, RES-41)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_pario.model import Pattern
from pytest_pario.units import GiB, KiB, MiB
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


@dataclass(frozen=True)
class Row:
    """A program, and what its runs need beside the pattern."""

    pattern: Pattern
    apart: Pattern | None = None
    """What is run under `independent`; None makes the calls of the pattern independent ones."""
    call_barriers: bool = False
    warmup_rounds: int = 0

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


def mpi_io_test_row(segment: int, calls: int) -> Row:
    """mpi-io-test, with a barrier before each timed call (RES-32)."""
    return Row(mpi_io_test(segment, calls), call_barriers=True)


def noncontig_rows(scale: Scale, ranks: int) -> Iterator[Row]:
    """Columns of each width in each variant; a call moves what the buffer holds (RES-34, RES-35)."""
    widest = INT * max(scale.elements) * ranks
    buffer = whole(scale.buffer_bytes, widest)
    calls = whole(scale.total_bytes, buffer) // buffer
    for elements in scale.elements:
        for variant in VARIANTS:
            yield Row(noncontig(elements, buffer, calls, ranks, variant))


def scaling_row(profile: str, ranks: int) -> Row:
    """mpi-io-test in segments of 1 MiB: a file of one size, whatever the number of processes (RES-40)."""
    return mpi_io_test_row(MiB, max(1, SCALES[profile].scaling_bytes // (ranks * MiB)))


def shared_patterns(profile: str, ranks: tuple[int, int]) -> tuple[Pattern, Pattern]:
    """Two programs that run at once in segments of 64 KiB, each on its number of ranks (RES-38)."""
    total, segment, (first, other) = SCALES[profile].shared_bytes, 64 * KiB, ranks
    demo = demonstration(segment, max(1, total // (SEGMENTS * first * segment)))
    return demo, mpi_io_test(segment, max(1, total // (other * segment)))


def rows(profile: str, ranks: int) -> list[Row]:
    """Every program of a profile, on so many ranks."""
    scale = SCALES[profile]
    # whole calls of the largest segments, so that all sizes of segments move the same bytes
    line = ranks * max(scale.segments)
    demo, flat = whole(scale.total_bytes, SEGMENTS * line), whole(scale.total_bytes, line)
    ior_bytes = whole(scale.ior_bytes, line)
    return [
        *(demo_row(size, demo // (SEGMENTS * ranks * size)) for size in scale.segments),
        *(mpi_io_test_row(size, flat // (ranks * size)) for size in scale.segments),
        *(Row(ior(size, ior_bytes // (ranks * size))) for size in scale.segments),
        # RES-31: one untimed round first
        *(Row(coll_perf(edge), warmup_rounds=1) for edge in scale.edges),
        *noncontig_rows(scale, ranks),
        *(
            Row(hpio(size, scale.regions, spacing, variant))
            for size in scale.region_sizes
            for spacing in scale.spacings
            for variant in VARIANTS
            if spacing or not variant.startswith("nc")
        ),
    ]
