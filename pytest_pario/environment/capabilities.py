"""What can be done in a directory: probes for `pario doctor` that need no MPI.

Every probe works on a file of its own and removes it, whatever happens; none touches a file of the user.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pytest_pario.environment.context import Context, existing, run_bounded
from pytest_pario.environment.direct_io import direct_io
from pytest_pario.environment.local import MEMORY
from pytest_pario.environment.mount import mount_of, type_of
from pytest_pario.environment.reservation import reserve_space
from pytest_pario.measure.cache import classify, explain
from pytest_pario.measure.residency import resident_fraction
from pytest_pario.units import MiB, format_bytes

State = Literal["yes", "no", "unknown"]

DROP_CACHES = "/proc/sys/vm/drop_caches"
PROBE_BYTES = MiB
TIMEOUT_S = 10.0
LITTLE_BYTES = 1024 * MiB
"""Less free space than this is worth a word."""
CURES = {errno.ENOENT: "create the directory", errno.ENOSPC: "free some space", errno.EDQUOT: "mind your quota"}


@dataclass(frozen=True)
class Capability:
    """What a probe found."""

    name: str
    state: State
    detail: str
    cure: str = ""
    """What to do about a no; empty where nothing needs to be done."""
    is_grave: bool = False
    """Whether nothing that is measured here can be trusted: data came back wrong."""


def probe_all(directory: str | os.PathLike[str]) -> list[Capability]:
    """Every probe in turn; one that fails in a way it did not expect says so and stops nobody else."""
    place = Path(directory)
    first = probe_create(place)
    found = [first]
    for name, probe in PROBES.items():
        try:
            if first.state != "yes" and name in NEED_A_FILE:
                found.append(Capability(name, "unknown", "no file can be created here", first.cure))
            else:
                found.append(probe(place))
        except Exception as error:
            found.append(Capability(name, "unknown", f"{type(error).__name__}: {error}"))
    return found


@contextlib.contextmanager
def probe_file(directory: Path, size: int = PROBE_BYTES) -> Iterator[Path]:
    """A new file of `size` bytes that nobody else has, removed at the end."""
    path = directory / f".pario-probe-{os.getpid()}-{secrets.token_hex(8)}"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.write(fd, os.urandom(size))
        finally:
            os.close(fd)
        yield path
    finally:
        path.unlink(missing_ok=True)


def probe_create(directory: Path) -> Capability:
    """Whether files can be created and written."""
    try:
        with probe_file(directory) as path:
            size = path.stat().st_size
    except OSError as error:
        cure = CURES.get(error.errno or 0, "choose a directory that you may write to")
        return Capability("create", "no", error.strerror or str(error), cure)
    return Capability("create", "yes", f"{format_bytes(size)} written and removed")


def probe_space(directory: Path) -> Capability:
    """How much room there is."""
    free = shutil.disk_usage(existing(directory)).free
    enough = free >= LITTLE_BYTES
    cure = "" if enough else "free some space: suites compute what they need and refuse to start"
    return Capability("space", "yes" if enough else "no", f"{format_bytes(free)} free", cure)


def probe_fsync(directory: Path) -> Capability:
    """Whether fsync works and what it costs."""
    with probe_file(directory) as path, path.open("rb+") as file:
        began = time.perf_counter()
        try:
            os.fsync(file.fileno())
        except OSError as error:
            return Capability("fsync", "no", str(error), "sustained write rates cannot be measured here")
        return Capability(
            "fsync", "yes", f"{format_bytes(PROBE_BYTES)} in {(time.perf_counter() - began) * 1e3:.1f} ms"
        )


def probe_evict(directory: Path) -> Capability:
    """Whether advice to the kernel empties the page cache of a file, proved by measuring what is left."""
    kind = type_of(Context(directory)) or ""
    with probe_file(directory) as path:
        with path.open("rb+") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        left = resident_fraction(path)
    if left.fraction is None:
        return Capability(
            "evict", "unknown", "the kernel does not tell what is cached", "read as `cached`, or use root"
        )
    detail = f"{left.fraction:.0%} cached after fadvise ({left.method})"
    if kind in MEMORY:
        return Capability("evict", "no", f"{detail}; {kind} is memory", "choose a disk; reads here are `cached`")
    if left.fraction > 0.01:
        return Capability("evict", "no", detail, "reads here are `cached`; as root, caches can be dropped")
    # what `measure.cache` will say of reads here
    state = classify(left.fraction, kind, server_flushed=False)
    if state == "cold":
        return Capability("evict", "yes", detail)
    cure = "remount before reads, or empty these caches by --pario-flush-command CMD"
    return Capability("evict", "unknown", f"{detail}; {explain(state, left.fraction, kind)}", cure)


def probe_drop_caches(_directory: Path) -> Capability:
    """Whether all caches of the node may be dropped; nothing is dropped."""
    if os.access(DROP_CACHES, os.W_OK):
        return Capability("drop_caches", "yes", f"{DROP_CACHES} can be written; it empties the caches of all users")
    return Capability("drop_caches", "no", f"{DROP_CACHES} cannot be written", "needs root; fadvise needs neither")


def probe_direct(directory: Path) -> Capability:
    """Whether O_DIRECT works, and with which alignment."""
    kind = type_of(Context(directory))
    with probe_file(directory) as path:
        found = direct_io(str(path))
    if not found.works:
        return Capability("direct", "no", f"O_DIRECT is refused ({found.source})", "direct rows are skipped")
    if kind in MEMORY:
        return Capability("direct", "no", f"{kind} accepts O_DIRECT and ignores it", "choose a disk")
    detail = f"offsets in multiples of {found.offset_align} B, memory of {found.memory_align} B ({found.source})"
    return Capability("direct", "yes", detail)


def probe_fallocate(directory: Path) -> Capability:
    """Whether the filesystem itself can reserve space; posix_fallocate would write zeros instead."""
    with probe_file(directory) as path, path.open("rb+") as file:
        if reserve_space(file.fileno(), 2 * PROBE_BYTES):
            return Capability("fallocate", "yes", "space is reserved without writing")
    return Capability("fallocate", "no", "not supported", "preallocation writes zeros: it is timed apart")


def probe_locks(directory: Path) -> Capability:
    """Whether fcntl locks keep another process out; ROMIO needs them for data sieving and shared pointers."""
    mount = mount_of(Context(directory))
    with probe_file(directory) as path, path.open("rb+") as file:
        try:
            fcntl.lockf(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return Capability("locks", "no", str(error), "mount with flock (Lustre), or lockd running (NFS)")
        held = _refused_to_another(path)
    if held is None:
        return Capability("locks", "unknown", "no second process could be asked")
    if not held:
        return Capability("locks", "no", "a lock does not keep another process out", "data sieving is unsafe here")
    options = {"localflock", "nolock", "local_lock=all", "local_lock=posix"}
    local = options & {*mount.superblock, *mount.options} if mount else set()
    if local:
        cure = "mount with flock (Lustre), or without nolock and local_lock (NFS)"
        return Capability("locks", "no", f"locks hold on this node only ({', '.join(sorted(local))})", cure)
    return Capability("locks", "yes", "a second process is kept out")


_TRY_LOCK = (
    "import fcntl,sys\n"
    "try: fcntl.lockf(open(sys.argv[1],'rb+'), fcntl.LOCK_EX|fcntl.LOCK_NB); print('free')\n"
    "except OSError: print('held')\n"
)


def _refused_to_another(path: Path) -> bool | None:
    told = run_bounded([sys.executable, "-I", "-S", "-c", _TRY_LOCK, str(path)], os.environ, TIMEOUT_S)
    return None if told is None else told.strip() == "held"


def probe_clock(_directory: Path) -> Capability:
    """How fine the clock is, and whether the clock of the day runs along with it."""
    steps = [after - before for before, after in _readings(1000) if after > before]
    if not steps:
        return Capability("clock", "no", "perf_counter does not advance", "times of single calls are worthless")
    wall, steady = time.clock_gettime_ns(time.CLOCK_REALTIME), time.monotonic_ns()
    time.sleep(0.02)
    wall, steady = time.clock_gettime_ns(time.CLOCK_REALTIME) - wall, time.monotonic_ns() - steady
    detail = f"smallest step {min(steps)} ns; in 20 ms the time of day moved {abs(wall - steady) / 1e3:.1f} µs apart"
    cure = "" if min(steps) <= 1000 else "calls shorter than this cannot be timed"
    return Capability("clock", "no" if cure else "yes", detail, cure)


def _readings(count: int) -> list[tuple[int, int]]:
    return [(time.perf_counter_ns(), time.perf_counter_ns()) for _ in range(count)]


PROBES: dict[str, Callable[[Path], Capability]] = {
    "space": probe_space,
    "fsync": probe_fsync,
    "evict": probe_evict,
    "drop_caches": probe_drop_caches,
    "direct": probe_direct,
    "fallocate": probe_fallocate,
    "locks": probe_locks,
    "clock": probe_clock,
}
"""All probes but `create`, which goes first."""
NEED_A_FILE = frozenset({"fsync", "evict", "direct", "fallocate", "locks"})
