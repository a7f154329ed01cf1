"""The only door of the collectors to the system: run a tool, read a file, ask the kernel. Nothing here raises."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_pario.units import MiB

TOOL_DIRECTORIES = (str(Path(sys.executable).parent), "/usr/lpp/mmfs/bin", "/usr/sbin", "/sbin", "/opt/beegfs/sbin")
"""Looked at after PATH: tools of administrators are often not on a user's PATH."""
READ_LIMIT = MiB

# mnt_id:	27
_MOUNT_ID = re.compile(r"^mnt_id:\s*(\d+)$", re.MULTILINE)


class Context:
    """What the facts are about, and how collectors ask; tests replace the asking by recorded answers."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        hints: Mapping[str, str] | None = None,
        hostnames: Sequence[str] = (),
        *,
        environment: Mapping[str, str] | None = None,
        timeout_s: float = 4.0,
        budget_s: float = 20.0,
    ) -> None:
        """Facts about `directory`, which need not exist: its nearest existing parent is taken.

        `hints` are those in force of an open file; `hostnames` has one entry per rank; one tool may take `timeout_s`,
        all together `budget_s`.
        """
        self.directory = existing(directory)
        self.hints: Mapping[str, str] = dict(hints or {})
        self.hostnames = tuple(hostnames)
        self.environment: Mapping[str, str] = dict(os.environ if environment is None else environment)
        self.complaints: list[str] = []
        """Tools that gave no answer in time."""
        self._timeout_s, self._left_s = timeout_s, budget_s

    def run(self, *command: str) -> str | None:
        """Standard output of a tool that ended well; None where it is missing, fails or takes too long."""
        program = find_tool(command[0], self.environment.get("PATH"))
        if program is None or self._left_s <= 0:
            return None
        limit_s = min(self._timeout_s, self._left_s)
        began = time.monotonic()
        output = run_bounded([program, *command[1:]], {**self.environment, "LC_ALL": "C", "LANG": "C"}, limit_s)
        elapsed_s = time.monotonic() - began
        self._left_s -= elapsed_s
        if output is None and elapsed_s >= limit_s:
            self.complaints.append(f"{' '.join(command[:2])}: no answer in {limit_s:.3g} s")
        return output

    def read(self, path: str) -> str | None:
        """The first MiB of a text file; None where it cannot be read."""
        try:
            with Path(path).open("rb") as file:
                return file.read(READ_LIMIT).decode("utf-8", "replace")
        except OSError:
            return None

    def xattr(self, path: str, name: str) -> bytes | None:
        """An extended attribute; None where it cannot be read."""
        try:
            return os.getxattr(path, name)
        except OSError:
            return None

    def space(self, path: str) -> os.statvfs_result | None:
        """Sizes and counts of the filesystem of a path."""
        try:
            return os.statvfs(path)
        except OSError:
            return None

    def preferred_bytes(self, path: str) -> int | None:
        """Preferred size of a transfer, st_blksize."""
        try:
            return os.stat(path).st_blksize  # noqa: PTH116 - one idiom for all calls of this door
        except OSError:
            return None

    def magic(self, path: str) -> int | None:
        """The f_type number of the filesystem of a path."""
        buffer = ctypes.create_string_buffer(512)
        with contextlib.suppress(OSError, AttributeError):
            if ctypes.CDLL(None).statfs(os.fsencode(path), buffer) == 0:
                return int.from_bytes(buffer.raw[: ctypes.sizeof(ctypes.c_long)], sys.byteorder) & 0xFFFFFFFF
        return None

    def mount_id(self, path: str) -> int | None:
        """The kernel's number of the mount that a path is on, the first column of mountinfo."""
        try:
            # an open that is more than O_PATH makes autofs mount what belongs here
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            match = _MOUNT_ID.search(self.read(f"/proc/self/fdinfo/{fd}") or "")
        finally:
            os.close(fd)
        return int(match[1]) if match else None

    def device_number(self, path: str) -> str | None:
        """Major and minor number of a device file, as `8:1`."""
        try:
            number = os.stat(path).st_rdev  # noqa: PTH116
        except OSError:
            return None
        return f"{os.major(number)}:{os.minor(number)}" if number else None


def existing(path: str | os.PathLike[str]) -> str:
    """The path without symbolic links, cut back to what exists."""
    real = os.path.realpath(path)
    while not os.path.lexists(real) and os.path.dirname(real) != real:  # noqa: PTH120
        real = os.path.dirname(real)  # noqa: PTH120
    return real


def find_tool(name: str, search_path: str | None) -> str | None:
    """Path of a program on PATH or in one of the usual directories of administrators."""
    return shutil.which(name, path=search_path) or shutil.which(name, path=os.pathsep.join(TOOL_DIRECTORIES))


def run_bounded(command: Sequence[str], environment: Mapping[str, str], limit_s: float) -> str | None:
    """Run a program for a limited time; one that hangs in the kernel is left behind and never waited for."""
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return None
    try:
        output, _ = child.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=0.2)
        if child.stdout:
            child.stdout.close()
        return None
    return output.decode("utf-8", "replace") if child.returncode == 0 else None
