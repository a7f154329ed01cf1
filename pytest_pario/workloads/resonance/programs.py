"""The programs of the resonant I/O study as rows (RES-04, RES-30..37)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_pario.errors import ParameterError
from pytest_pario.model import Memory, Pattern
from pytest_pario.patterns import Block3D, Segmented, Strided
from pytest_pario.units import KiB, MiB, format_bytes

INT = 4
"""Bytes of an element of coll_perf and noncontig."""


CALLS_ALONE: Mapping[str, Any] = {"metric": "aggregate", "sync": "none"}
"""What is timed: the calls of the slowest process, without open, sync and close (RES-31, RES-32)."""


def _name(program: str, size: int) -> str:
    return f"{program}-{format_bytes(size).replace(' ', '')}"


def demonstration(segment: int, calls: int, coll: bool = True) -> Pattern:
    """Four segments of each process per call; without `coll` four separate calls (RES-04, RES-05)."""
    layout = Strided(segment, per_call=4, ncalls=calls) if coll else Strided(segment, ncalls=4 * calls)
    return Pattern(_name("demo" if coll else "demo-non", segment), layout, coll, **CALLS_ALONE)


def coll_perf(edge: int) -> Pattern:
    """A cube of ints, block-distributed over a near-cubic grid; the file is the row-major cube (RES-30)."""
    return Pattern(f"coll_perf-{edge}", Block3D((edge, edge, edge), INT), coll=True, **CALLS_ALONE)


def mpi_io_test(segment: int, calls: int) -> Pattern:
    """Call c: process i moves segment c*N + i, by explicit offset (RES-32)."""
    layout = Strided(segment, ncalls=calls)
    return Pattern(_name("mpi-io-test", segment), layout, coll=True, pointer="explicit", **CALLS_ALONE)


def ior(segment: int, calls: int) -> Pattern:
    """Process i owns the i-th part of the file; call c moves its segment c (RES-33)."""
    layout = Segmented(segment * calls, (segment,), count=calls)
    return Pattern(_name("ior", segment), layout, coll=True, pointer="explicit", **CALLS_ALONE)


def noncontig(elements: int, buffer_bytes: int, calls: int, ranks: int, variant: str = "c-nc") -> Pattern:
    """Rows of one column per process, a column `elements` ints wide; a call moves `buffer_bytes` in total (RES-34).

    The variant says whether memory and file are contiguous: c-c, nc-c, c-nc or nc-nc (RES-35).
    """
    memory, file = _variant(variant)
    width = INT * elements
    rows = max(1, buffer_bytes // (width * ranks))
    part = width * rows
    layout = Strided(width, rows, calls) if file == "nc" else Segmented(part * calls, (part,), count=calls)
    mem = Memory(width, width) if memory == "nc" else Memory()
    return Pattern(f"{_name('noncontig', width)}-{variant}", layout, coll=True, mem=mem, **CALLS_ALONE)


def hpio(size: int, count: int, spacing: int, variant: str = "c-nc") -> Pattern:
    """`count` regions of `size` bytes, `spacing` apart where memory or file is not contiguous, in one call (RES-37)."""
    memory, file = _variant(variant)
    layout = Strided(size, count, gap=spacing) if file == "nc" else Segmented(size * count, (size * count,))
    mem = Memory(size, spacing) if memory == "nc" and spacing else Memory()
    apart = "" if spacing else "-dense"
    return Pattern(f"{_name('hpio', size)}{apart}-{variant}", layout, coll=True, mem=mem, **CALLS_ALONE)


def _variant(text: str) -> tuple[str, str]:
    memory, _, file = text.partition("-")
    if memory not in ("c", "nc") or file not in ("c", "nc"):
        raise ParameterError("variant", text, f"one of {', '.join(VARIANTS)}")
    return memory, file


VARIANTS = ("c-c", "nc-c", "c-nc", "nc-nc")


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


def rows(profile: str, ranks: int) -> list[Pattern]:
    """Every program of a profile, on so many ranks."""
    scale = SCALES[profile]
    by_segment: tuple[Callable[[int, int], Pattern], ...] = (demonstration, mpi_io_test, ior)
    return [
        *(make(size, scale.calls) for make in by_segment for size in scale.segments),
        *(coll_perf(edge) for edge in scale.edges),
        *(noncontig(e, scale.buffer_bytes, 1, ranks, variant) for e in scale.elements for variant in VARIANTS),
        *(
            hpio(size, scale.regions, spacing, variant)
            for size in scale.region_sizes
            for spacing in scale.spacings
            for variant in VARIANTS
            if spacing or not variant.startswith("nc")
        ),
    ]
