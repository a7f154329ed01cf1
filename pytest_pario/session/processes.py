"""What a job has on this host: its processes, ending exactly them, and the files that it registered."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

SEGMENTS = "/dev/shm/mpich_shm_"  # noqa: S108 - MPICH's own name


def host_key() -> str:
    """Equal for two processes that reach each other on loopback and see each other's pids."""
    key = [Path("/proc/sys/kernel/random/boot_id").read_text().strip()]
    for kind in ("net", "pid"):
        with contextlib.suppress(OSError):
            key.append(str(Path(f"/proc/self/ns/{kind}").readlink()))
    return " ".join(key)


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot: with the pid it names a process for good."""
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def parent_of(pid: int) -> int | None:
    """Parent of a process; None where it is gone or cannot be seen."""
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def is_alive(process: Mapping[str, Any]) -> bool:
    """Say whether this very process, as a rank introduced itself, still runs on this host."""
    return process.get("boot") == host_key() and start_time(int(process["pid"])) == process.get("started")


def kill_ranks(processes: Iterable[Mapping[str, Any]]) -> None:
    """Kill those ranks of a job that still run on this host."""
    for process in processes:
        if is_alive(process):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(process["pid"]), signal.SIGKILL)


def remove(path: Path) -> None:
    """Remove a registered scratch file or directory."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def shared_segments() -> list[str]:
    """Files in memory that MPICH shares between the ranks of a host, and removes only if it ends in order."""
    # 7f3c1c000000-7f3c1c600000 rw-s 00000000 00:19 171  /dev/shm/mpich_shm_1afb9c99_0
    with contextlib.suppress(OSError):
        named = (line.split() for line in Path("/proc/self/maps").read_text().splitlines())
        return sorted({words[5] for words in named if len(words) == 6 and words[5].startswith(SEGMENTS)})
    return []


def _stat(pid: int) -> list[str] | None:
    # 4242 (python) S 4200 4242 4242 0 ...: the name may hold blanks and brackets, so split behind the last bracket
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
