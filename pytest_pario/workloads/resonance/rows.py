"""The rows of the suite: programs of the study, scaled by profile. Pure (RES-04, RES-30..37, RES-41)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_pario.model import Pattern
from pytest_pario.units import KiB, MiB
from pytest_pario.workloads.resonance.programs import (
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
    """How much one profile moves."""

    segments: tuple[int, ...]
    """Of demo, mpi-io-test and ior."""
    calls: int
    edges: tuple[int, ...]
    elements: tuple[int, ...]
    buffer_bytes: int
    region_sizes: tuple[int, ...]
    regions: int
    spacings: tuple[int, ...] = (128, 0)
    """Bytes between regions; 0 is what was published (RES-36)."""


def _kib(*sizes: int) -> tuple[int, ...]:
    return tuple(size * KiB for size in sizes)


SCALES: Mapping[str, Scale] = {
    "quick": Scale(_kib(64), 2, (32,), (4096,), 1 * MiB, _kib(4), 64),
    "nightly": Scale(_kib(32, 64, 256, 1024), 16, (64, 256), (4096, 16384, 65536), 16 * MiB, _kib(2, 16, 64), 512),
    "full": Scale(
        _kib(32, 64, 128, 256, 512, 1024),
        64,
        (64, 256, 512),
        (4096, 8192, 16384, 32768, 65536),
        16 * MiB,
        _kib(2, 4, 8, 16, 32, 64),
        4096,
    ),
}


def demo_row(segment: int, calls: int) -> Row:
    """The demonstration; processes by themselves make four contiguous calls for each collective one (RES-05)."""
    together, apart = demonstration(segment, calls), demonstration(segment, calls, coll=False)
    return Row(together, dataclasses.replace(apart, name=together.name))


def mpi_io_test_row(segment: int, calls: int) -> Row:
    """mpi-io-test, with a barrier before each timed call (RES-32)."""
    return Row(mpi_io_test(segment, calls), call_barriers=True)


def rows(profile: str, ranks: int) -> list[Row]:
    """Every program of a profile, on so many ranks."""
    scale = SCALES[profile]
    return [
        *(demo_row(size, scale.calls) for size in scale.segments),
        *(mpi_io_test_row(size, scale.calls) for size in scale.segments),
        *(Row(ior(size, scale.calls)) for size in scale.segments),
        # RES-31: one untimed round first
        *(Row(coll_perf(edge), warmup_rounds=1) for edge in scale.edges),
        *(Row(noncontig(e, scale.buffer_bytes, 1, ranks, variant)) for e in scale.elements for variant in VARIANTS),
        *(
            Row(hpio(size, scale.regions, spacing, variant))
            for size in scale.region_sizes
            for spacing in scale.spacings
            for variant in VARIANTS
            if spacing or not variant.startswith("nc")
        ),
    ]
