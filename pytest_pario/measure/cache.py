"""Cold caches, and the proof of it (CONS-42, CONS-48).

Residency 0 on every client is necessary, not proof: a server, a hypervisor or a filesystem with a cache of its own may
still have the data. So a state says what was shown, and a read that is faster than the device can be is flagged.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_pario import mpi
from pytest_pario.errors import CacheStateError, ParameterError
from pytest_pario.measure.residency import resident_fraction
from pytest_pario.units import MiB

if TYPE_CHECKING:
    from mpi4py import MPI

State = Literal["cold", "client-cold", "cached", "unknown"]

WORST_LAST: tuple[State, ...] = ("cold", "client-cold", "unknown", "cached")

RESIDENT_LIMIT = 0.01
"""A page or two of a file may be brought back by looking at it."""
RESIDENT_BYTES = 4 * MiB
"""More than this is data, however large the file is."""
COMMAND_LIMIT_S = 300.0
DROP_CACHES = Path("/proc/sys/vm/drop_caches")
LOCAL = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs")
"""Filesystems whose only page cache on the way to the device is this node's."""


OWN_CACHE = {
    "zfs": "the ARC of ZFS",
    "gpfs": "the pagepool of GPFS",
    "fuse.glusterfs": "io-cache of GlusterFS",
    "fuse.ceph-fuse": "the object cache of Ceph",
}
"""Caches of filesystems on this node that no page of the page cache shows, and no advice to the kernel empties."""
FUSE = ("fuse", "fuseblk")


@dataclass(frozen=True)
class FlushRule:
    """How caches are emptied before a read."""

    drop_caches: bool = False
    """Also drop all clean pages of the node, where this user may."""
    command: str | None = None
    """Site command that empties the caches of servers; run on root, its success is the site's statement."""
    require_cold: bool = False
    """Fail where the caches cannot be shown to be cold (ERR-10)."""


@dataclass(frozen=True)
class CacheState:
    """What is known of the caches before a read."""

    state: State
    resident: float | None
    """Largest resident fraction of a file on any rank."""
    methods: tuple[str, ...]
    """How they were emptied, and how that was shown."""
    why: str = ""
    limit: float = RESIDENT_LIMIT
    """The resident fraction up to which the files count as not cached."""


@dataclass(frozen=True)
class Resident:
    """What the page caches of all clients hold of some files."""

    fraction: float | None
    """The largest of any file on any rank; None where one of them cannot tell."""
    methods: tuple[str, ...]
    limit: float
    """The fraction up to which they count as not cached."""


def worst(states: Iterable[CacheState]) -> CacheState:
    """The state that claims least; of equal ones that with the most resident."""
    return max(states, key=lambda state: (WORST_LAST.index(state.state), _known(state.resident)))


def _known(resident: float | None) -> float:
    return -1.0 if resident is None else resident


def resident_limit(size: int) -> float:
    """The resident fraction up to which a file of this size counts as not cached."""
    return min(RESIDENT_LIMIT, RESIDENT_BYTES / size) if size else RESIDENT_LIMIT


def look(comm: MPI.Comm, paths: Sequence[Path]) -> Resident:
    """Ask every rank what its page cache holds of its files; an error of one of them is told to all."""

    def tell() -> list[tuple[float | None, str, float]]:
        found = [(resident_fraction(path), resident_limit(path.stat().st_size)) for path in paths]
        return [(one.fraction, one.method, limit) for one, limit in found]

    mine = mpi.together(comm, "looking at page caches", tell)
    told = [one for rank in comm.allgather(mine) for one in rank]
    known = [fraction for fraction, _, _ in told if fraction is not None]
    largest = max(known, default=None) if len(known) == len(told) else None
    methods = tuple(sorted({method for _, method, _ in told}))
    return Resident(largest, methods, min((limit for _, _, limit in told), default=RESIDENT_LIMIT))


def flush_caches(comm: MPI.Comm, paths: Sequence[Path], fstype: str, rule: FlushRule) -> CacheState:
    """Empty the caches of the files on all clients, and of the servers where the site says how; then prove it."""
    methods = ["fsync+fadvise on every rank"]
    mpi.together(comm, "emptying page caches", lambda: evict(*paths))
    if rule.drop_caches and all(comm.allgather(_drop_caches())):
        methods.append("drop_caches")
    if rule.command:
        _run_command(comm, rule.command)
        methods.append("site command")
    comm.Barrier()
    found = look(comm, paths)
    methods.append("shown by " + "/".join(found.methods))
    state = classify(found.fraction, fstype, server_flushed=bool(rule.command), limit=found.limit)
    result = CacheState(state, found.fraction, tuple(methods), explain(state, found.fraction, fstype), found.limit)
    if rule.require_cold and state != "cold":
        raise CacheStateError(f"caches are {state}: {result.why}")
    return result


def own_cache(fstype: str) -> str:
    """Name the cache of this filesystem that cannot be seen; empty where there is none."""
    daemon = fstype in FUSE or fstype.startswith("fuse.")
    return OWN_CACHE.get(fstype, f"the memory of the daemon of {fstype}" if daemon else "")


def classify(resident: float | None, fstype: str, server_flushed: bool, limit: float = RESIDENT_LIMIT) -> State:
    """Name the state that a resident fraction shows."""
    if fstype == "tmpfs":
        return "cached"
    if resident is None:
        return "unknown"
    if resident > limit:
        return "cached"
    if own_cache(fstype) and not server_flushed:
        return "unknown"
    return "cold" if server_flushed or fstype in LOCAL else "client-cold"


def explain(state: State, resident: float | None, fstype: str) -> str:
    """Say in one sentence why the state is what it is."""
    if fstype == "tmpfs":
        return "tmpfs lives in memory and cannot be evicted"
    if state == "unknown" and resident is None:
        return "no way to see what the page cache holds"
    if state == "unknown":
        return f"{own_cache(fstype)} cannot be seen (give a site flush command)"
    if state == "cached":
        return f"{resident:.2%} of a file is still in a page cache after eviction"
    if state == "client-cold":
        return f"no page on any client; servers of {fstype} may have the data (give a site flush command)"
    return "no page on any client, and no server cache that was not flushed"


def evict(*paths: Path) -> None:
    """Write the dirty pages of files and drop their clean ones on this node; a file that is gone has none."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(handle)


def _drop_caches() -> bool:
    try:
        DROP_CACHES.write_text("1\n")
    except OSError:
        return False
    return True


def _run_command(comm: MPI.Comm, command: str) -> None:
    """Run the site's command on root; its failure is everybody's error."""
    problem = None
    if comm.rank == 0:
        try:
            done = subprocess.run(
                shlex.split(command), capture_output=True, text=True, timeout=COMMAND_LIMIT_S, check=False
            )
            if done.returncode:
                problem = f"a command that succeeds; it ended with {done.returncode}: {done.stderr.strip()[:200]}"
        except (OSError, subprocess.TimeoutExpired, ValueError) as error:
            problem = f"a command that can be run: {error}"
    problem = comm.bcast(problem, root=0)
    if problem:
        raise ParameterError("flush_command", command, problem, "--pario-flush-command")
