"""The programs of the resonant I/O study as rows (RES-04, RES-30..37)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_pario.errors import ParameterError
from pytest_pario.model import Memory, Pattern
from pytest_pario.patterns import Block3D, Segmented, Strided
from pytest_pario.units import format_bytes

INT = 4
"""Bytes of an element of coll_perf and noncontig."""


SEGMENTS = 4
"""That each process moves in one call of the demonstration."""
CALLS_ALONE: Mapping[str, Any] = {"metric": "aggregate", "sync": "none"}
"""What is timed: the calls of the slowest process, without open, sync and close (RES-31, RES-32)."""


def _name(program: str, size: int) -> str:
    return f"{program}-{format_bytes(size).replace(' ', '')}"


def demonstration(segment: int, calls: int, coll: bool = True) -> Pattern:
    """Four segments of each process per call; without `coll` four separate calls (RES-04, RES-05)."""
    if coll:
        return Pattern(_name("demo", segment), Strided(segment, per_call=SEGMENTS, ncalls=calls), True, **CALLS_ALONE)
    # explicit offsets and no view: plain contiguous calls, which nothing sieves
    layout = Strided(segment, ncalls=SEGMENTS * calls)
    return Pattern(_name("demo-non", segment), layout, pointer="explicit", **CALLS_ALONE)


def coll_perf(edge: int) -> Pattern:
    """A cube of ints, block-distributed over a near-cubic grid; the file is the row-major cube (RES-30)."""
    return Pattern(f"coll_perf-{edge}", Block3D((edge, edge, edge), INT), coll=True, **CALLS_ALONE)


def mpi_io_test(segment: int, calls: int, sync_each: bool = False) -> Pattern:
    """Call c: process i moves segment c*N + i, by explicit offset; each write may be synced (RES-32)."""
    layout, timed = Strided(segment, ncalls=calls), {**CALLS_ALONE, "sync": "per_call" if sync_each else "none"}
    return Pattern(_name("mpi-io-test", segment), layout, coll=True, pointer="explicit", **timed)


def ior(segment: int, calls: int) -> Pattern:
    """Process i owns the i-th part of the file; call c moves its segment c (RES-33)."""
    layout = Segmented(segment * calls, (segment,), count=calls)
    return Pattern(_name("ior", segment), layout, coll=True, pointer="explicit", **CALLS_ALONE)


def noncontig(
    elements: int,
    buffer_bytes: int,
    calls: int,
    ranks: int,
    variant: str = "c-nc",
    *,
    displacement: int = 0,
    offset: int = 0,
    sync_after: bool = False,
) -> Pattern:
    """Rows of one column per process, a column `elements` ints wide; a call moves `buffer_bytes` in total (RES-34).

    The variant says whether memory and file are contiguous: c-c, nc-c, c-nc or nc-nc. The file begins after
    `displacement` bytes; `offset` ints of it are left out, counted by each process under its view (RES-35).
    """
    if offset % elements:
        raise ParameterError("noncontig_offset", offset, f"whole elements of {elements} ints each")
    memory, file = _variant(variant)
    width = INT * elements
    rows = max(1, buffer_bytes // (width * ranks))
    part = width * rows
    mem = Memory(width, width) if memory == "nc" else Memory()
    more: dict[str, Any] = {**CALLS_ALONE, "sync": "end" if sync_after else "none"}
    if file == "nc":
        layout = Strided(width, rows, calls, start=displacement + offset // elements * ranks * width)
    else:
        # explicit offsets and no view: each process has one stretch, which calls cut
        layout = Strided(part * calls, transfer=part, start=displacement + INT * offset)
        more["pointer"] = "explicit"
    return Pattern(f"{_name('noncontig', width)}-{variant}", layout, coll=True, mem=mem, **more)


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
