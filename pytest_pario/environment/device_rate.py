"""What the device below a directory can plausibly deliver: a bounded read past the page cache (CONS-42, CONS-48).

A file of 32 MiB is written and synced, then read with O_DIRECT, every rank its part at the same time, in calls of
1 MiB. Three times the best of three passes is what a read may reach: read-ahead and larger calls gain less than that.
A device that says that it rotates delivers 600 MiB/s at the most, whatever the probe saw: more comes from a cache
behind it. The rate of an array of such disks is for the operator to state.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_pario.environment.direct_io import direct_io
from pytest_pario.units import MiB, mib_per_s

PROBE_BYTES = 32 * MiB
CALL_BYTES = MiB
PASSES = 3
MARGIN = 3.0
ROTATING_MIB_S = 600.0
"""No single disk that rotates reads faster; those with two actuators reach about 500."""


@dataclass(frozen=True)
class DeviceRate:
    """MiB/s above which a read cannot have come from the device; None where that is not known."""

    mib_s: float | None
    source: str

    def __str__(self) -> str:
        if self.mib_s is None:
            return f"device rate not known: {self.source}"
        return f"device up to {self.mib_s:.0f} MiB/s: {self.source}"


def stated_rate(mib_s: float) -> DeviceRate:
    """What the operator says."""
    return DeviceRate(mib_s, "--pario-device-rate")


def write_probe(path: Path) -> str:
    """Write and sync the file that is read; say why it cannot be read past the page cache, or nothing."""
    with path.open("xb", buffering=0) as file:
        for _ in range(PROBE_BYTES // CALL_BYTES):
            file.write(os.urandom(CALL_BYTES))
        os.fsync(file.fileno())
    able = direct_io(str(path))
    if not able.works:
        return "O_DIRECT does not work here"
    if CALL_BYTES % max(able.offset_align, able.memory_align, 1):
        return f"O_DIRECT wants multiples of {able.offset_align} B"
    return ""


def read_part(path: Path, rank: int, ranks: int) -> float:
    """Seconds that this rank takes for its calls: every `ranks`-th MiB of the file."""
    # an anonymous mapping begins on a page
    with mmap.mmap(-1, CALL_BYTES) as memory, memoryview(memory) as buffer:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
        try:
            begun = time.perf_counter()
            for offset in range(rank * CALL_BYTES, PROBE_BYTES, ranks * CALL_BYTES):
                os.preadv(fd, [buffer], offset)
            return time.perf_counter() - begun
        finally:
            os.close(fd)


def judge(slowest_s: Sequence[float], rotates: bool | None) -> DeviceRate:
    """The rate that follows from the slowest rank of each pass."""
    best = max((mib_per_s(PROBE_BYTES, seconds) for seconds in slowest_s if seconds > 0), default=0.0)
    if not best:
        return DeviceRate(None, "the probe took no time")
    told = f"{MARGIN:g} times the {best:.0f} MiB/s of a read past the page cache"
    if rotates and MARGIN * best > ROTATING_MIB_S:
        why = f"it says that it rotates, though it gave {best:.0f} MiB/s: state an array's rate by --pario-device-rate"
        return DeviceRate(ROTATING_MIB_S, why)
    return DeviceRate(MARGIN * best, told)
