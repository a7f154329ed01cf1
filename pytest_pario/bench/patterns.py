"""`pario bench patterns`: speed of the pure core on one core: stamps, extent tables, verifiers."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pytest_pario import mpi
from pytest_pario.access.datatypes import datatype
from pytest_pario.model import Pattern, Plan
from pytest_pario.patterns import (
    Block3D,
    Cells,
    Files,
    Layout,
    RandomSizes,
    Same,
    Scattered,
    Segmented,
    SparseStrided,
    Strided,
    Tiles,
    content_of,
    plan,
    verify_file,
    verify_reads,
    views,
    whole_payload,
)
from pytest_pario.patterns.check import file_size
from pytest_pario.patterns.expected import expect
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.stamp import Content
from pytest_pario.patterns.stream import make_stream

MEMORY = Path("/dev/shm")  # noqa: S108 - a file of a random name in memory, removed at once
MILLION = 1_000_000
LAYOUTS: list[tuple[Layout, int]] = [
    (Strided(1032, per_call=1000, ncalls=1000), 4),
    (Segmented(4096 * MILLION, (1024,) * 10, count=MILLION // 10), 4),
    (Tiles(2, 2, 10, MILLION, 3, 1, 1), 4),
    (Block3D((2000, 2000, 100)), 4),
    (Scattered(1024, 4 * MILLION, region=1 << 30), 4),
    (Scattered(1024, 4 * MILLION, per_call=10), 4),
    (Scattered(256 << 10, 4 * MILLION // 16, sub=(16, 4096)), 4),
    (RandomSizes(1, 4096, 1000, 1000), 4),
    (SparseStrided(12288, 294912, MILLION), 4),
    (Same(1024, MILLION), 4),
    (Files(1, 1024 * MILLION, 1024), 1),
    (Cells((1000, 1000, 4), ((((0, 0, 0), (1000, 1000, 2)),),), 8), 1),
]


def best(action: Callable[[], object], rounds: int = 5) -> float:
    """Seconds of the fastest round."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def say(name: str, value: float, unit: str) -> None:
    """Print one figure."""
    sys.stdout.write(f"{name:44s} {value:10.2f} {unit}\n")


def measure_stamps() -> None:
    """Generating and checking, contiguous and in pieces; 1 GB/s is what must not be missed."""
    stream = make_stream(1, 0, 0)
    out = np.ones(64 << 20, dtype=np.uint8)
    for source in (0, 13):
        gb = out.size / 1e9
        say(f"stamp: fill 64 MiB, source {source}", gb / best(lambda s=source: stream.fill(out, s)), "GB/s")  # type: ignore[misc]
        say("stamp: check", gb / best(lambda s=source: stream.count_differences(out, s)), "GB/s")  # type: ignore[misc]
    for length in (8, 32, 128, 1032, 32776, 1 << 20):
        count = (16 << 20) // length
        at, lengths = np.arange(count) * length, np.full(count, length)
        sources = at * 64 % 260_000
        seconds = best(lambda a=at, n=lengths, s=sources: stream.fill_pieces(out, a, n, s))  # type: ignore[misc]
        say(f"stamp: fill 16 MiB in pieces of {length} B", count * length / 1e9 / seconds, "GB/s")
    say("stamp: new stream", best(lambda: make_stream.__wrapped__(1, 2, 3)) * 1e3, "ms")


def measure_layouts() -> None:
    """Extents per second of each layout."""
    for layout, n in LAYOUTS:
        rank = n - 1
        table = layout.calls(rank, n)
        count = len(table.offsets)
        seconds = best(lambda a=layout, r=rank, k=n: a.calls(r, k), 3)  # type: ignore[misc]
        say(f"extents: {layout.name} ({count})", count / seconds / 1e6, "million/s")
        pattern = Pattern("x", layout, files="each" if n == 1 and isinstance(layout, Files) else "shared")
        seconds = best(lambda p=pattern, r=rank, k=n: views(plan(p, k), r), 1)  # type: ignore[misc]
        say("    its views", seconds * 1e3, "ms")


def measure_verifiers() -> None:
    """Bytes per second of the verifiers of files and of buffers."""
    folder = MEMORY if MEMORY.is_dir() else Path(tempfile.gettempdir())
    for layout in (
        Segmented(64 << 20, (1 << 20,), count=64),
        Strided(32776, per_call=32, ncalls=64),
        Strided(1032, per_call=1016, ncalls=64),
        Strided(64, per_call=16384, ncalls=64),
    ):
        made = plan(Pattern("x", layout), 4)
        content = content_of(made, 1)
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            path, data = Path(file.name), image(made, content)
            data.tofile(path)
            seconds = best(lambda p=path, m=made, c=content: verify_file(p, m, c), 3)  # type: ignore[misc]
        say(f"verify_file: {layout.name} {data.size >> 20} MiB", data.size / 1e9 / seconds, "GB/s")
        table = made.ranks[1]
        read = whole_payload(content, 1, table)
        seconds = best(lambda r=read, m=made, c=content: verify_reads(r, m, 1, c), 3)  # type: ignore[misc]
        say("    verify_reads", table.total_bytes / 1e9 / seconds, "GB/s")


def image(made: Plan, content: Content) -> Bytes:
    """The file as it should be."""
    data = np.zeros(file_size(made.ranks), dtype=np.uint8)
    expect([made], content, 0, data.size).fill(data, 0)
    return data


def measure_discontiguous(blocks: int = 1_000_000) -> None:
    """Plan and filetypes of a million blocks of one rank, scattered over the regions of four (GPFS-12, GPFS-14)."""
    made = plan(Pattern("x", Scattered(1024, 4 * blocks, seed=1, region=2 << 30), True), 4)
    if mpi.unavailable_reason():
        sys.stdout.write(f"no filetypes: {mpi.unavailable_reason()}\n")
        return

    def build() -> None:
        made.ranks[1].total_bytes  # noqa: B018 - makes the table
        shown = views(made, 1)
        for number in range(len(shown)):
            with datatype(shown[number].filetype):
                pass

    say("plan and filetypes of 1 000 000 blocks", best(build, 1), "s")


def run_patterns_bench() -> int:
    """Print all figures; best of a few rounds each, for the machine may be shared."""
    measure_stamps()
    measure_layouts()
    measure_verifiers()
    measure_discontiguous()
    return 0
