"""A filesystem on a loop device whose rates can be set while it is mounted (blkio of cgroup v1, for all processes)."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

BLKIO = Path("/sys/fs/cgroup/blkio")
MB = 1_000_000


def missing_reason() -> str | None:
    """Say why there can be no such filesystem here, or None where there can."""
    lacking = [name for name in ("losetup", "mkfs.ext4", "mount", "umount") if shutil.which(name) is None]
    if os.geteuid() != 0:
        return "needs root to mount a loop device"
    if not (BLKIO / "blkio.throttle.write_bps_device").exists():
        return "needs the blkio controller of cgroup v1 to throttle a device"
    return f"needs {', '.join(lacking)}" if lacking else None


@dataclass(frozen=True)
class Throttled:
    """One that is mounted."""

    path: Path
    device: str
    """Major and minor number."""

    def set(self, read_mb: int, write_mb: int) -> None:
        """Let so many MB/s through, 0 for all."""
        for direction, rate in (("read", read_mb), ("write", write_mb)):
            (BLKIO / f"blkio.throttle.{direction}_bps_device").write_text(f"{self.device} {rate * MB}")


@contextlib.contextmanager
def throttled_filesystem(place: Path, size_mb: int = 256) -> Iterator[Throttled]:
    """An ext4 of that size, unthrottled; unmounted and removed at the end."""
    image, path = place / "image", place / "mounted"
    path.mkdir()
    with image.open("wb") as file:
        file.truncate(size_mb * MB)
    with contextlib.ExitStack() as stack:
        made = _run("losetup", "--find", "--show", "--direct-io=on", str(image))
        if made.returncode:
            pytest.skip(f"no loop device: {made.stderr.strip()}")
        device = made.stdout.strip()
        stack.callback(_run, "losetup", "--detach", device)
        # without a journal's thread and late initialisation, which would take part of the rate
        options = "lazy_itable_init=0,lazy_journal_init=0"
        _require(_run("mkfs.ext4", "-q", "-F", "-E", options, device))
        _require(_run("mount", device, str(path)))
        stack.callback(lambda: _require(_run("umount", str(path))))
        bed = Throttled(path, (Path("/sys/block") / Path(device).name / "dev").read_text().strip())
        stack.callback(bed.set, 0, 0)
        yield bed
    image.unlink()


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def _require(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode:
        raise OSError(f"{' '.join(done.args)}: {done.stderr.strip()}")
