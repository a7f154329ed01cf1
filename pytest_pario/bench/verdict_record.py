"""`pario bench verdict --record FILE DIR…`: record the noise of this machine, as the bench reads it back."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Sequence
from pathlib import Path

from pytest_pario.bench.verdict_data import REPEATED
from pytest_pario.environment.context import Context
from pytest_pario.environment.mount import type_of
from pytest_pario.errors import ParameterError
from pytest_pario.units import KiB, MiB, mib_per_s

REPETITIONS = 6
TOTAL = 4 * MiB
#           name          transfer   distance of transfers
PATTERNS = (("contig1M", 1 * MiB, 1 * MiB), ("strided32K", 32 * KiB, 64 * KiB), ("strided4K", 4 * KiB, 12 * KiB))


def record_noise(output: Path, directories: Sequence[Path], nights: int, pause_s: float = 0.5) -> int:
    """Short nights of six repetitions, the repetition loop outermost; synced writes, reads after eviction."""
    if output.exists():
        raise ParameterError("--record", str(output), "a new file", "command line")
    with output.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(REPEATED)
        for night in range(nights):
            for repetition in range(REPETITIONS):
                for directory in directories:
                    for name, transfer, distance in PATTERNS:
                        rows = _record_one(directory, name, transfer, distance)
                        writer.writerows([night, repetition, *row] for row in rows)
            time.sleep(pause_s)
    print(f"{nights} nights in {output}")
    return 0


def _record_one(directory: Path, name: str, transfer: int, distance: int) -> list[list[str]]:
    """Write and read once: filesystem, pattern, mode, operation, MiB/s."""
    path = directory / f"pario-noise-{os.getpid()}"
    kind = type_of(Context(directory)) or "unknown"
    data = os.urandom(transfer)
    offsets = range(0, TOTAL // transfer * distance, distance)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        begun = time.perf_counter()
        for offset in offsets:
            os.pwrite(descriptor, data, offset)
        os.fsync(descriptor)
        written_s = time.perf_counter() - begun
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        begun = time.perf_counter()
        for offset in offsets:
            os.pread(descriptor, transfer, offset)
        read_s = time.perf_counter() - begun
    finally:
        os.close(descriptor)
        path.unlink()
    rates = (("write", mib_per_s(TOTAL, written_s)), ("read", mib_per_s(TOTAL, read_s)))
    return [[kind, name, "posix", operation, f"{rate:.3f}"] for operation, rate in rates]
