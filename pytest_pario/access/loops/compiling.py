"""How a kernel is compiled, once per machine and user where possible, however many ranks begin at the same time."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import importlib
import os
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

KERNELS = "pytest_pario.access.loops.kernels"
LOCK_WAIT_S = 60.0
"""How long a rank waits for one that compiles and shows no progress; then it compiles for itself."""
LOCK_POLL_S = 0.02


@functools.cache
def numba_missing_reason() -> str | None:
    """Say why numba cannot compile here, or None where it can; the import happens in this call."""
    try:
        numba = importlib.import_module("numba")
    except Exception as error:
        # A numba that does not fit its numpy or llvmlite raises more than ImportError.
        first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return f"numba cannot be imported: {first_line} (pip install 'pytest-pario[compiled]')"
    return "NUMBA_DISABLE_JIT is set" if numba.config.DISABLE_JIT else None


@functools.cache
def compiled(name: str, module: str = KERNELS) -> Callable[..., Any]:
    """The machine code of a kernel: from the cache, else compiled and cached, else compiled for this process.

    The module has the kernels and their `SIGNATURES`; where their code is made by other modules too, `GENERATION` names
    a folder of its own in the cache, because numba looks at the file of the kernel alone.
    """
    kernels = importlib.import_module(module)
    function, signature = getattr(kernels, name), kernels.SIGNATURES[name]
    with contextlib.ExitStack() as stack:
        try:
            directory = stack.enter_context(_locked_cache(getattr(kernels, "GENERATION", "")))
            return _compile_cached(function, signature, directory)
        except Exception:
            # No cache, or a damaged one: whatever is wrong with it, the kernel can do without. A kernel that does
            # not compile at all fails again below, with its reason.
            return _compile(function, signature, cache=False)


def cache_directory() -> Path:
    """Where compiled kernels are kept: what NUMBA_CACHE_DIR says, else a directory of this user on this machine.

    The directory for temporary files is local to the machine as a rule, so that nothing is put on the storage under
    test, and machines of different kinds do not meet. Whoever can write there can have code run, so only a directory
    that nobody else can write to will do.
    """
    numba = importlib.import_module("numba")
    if numba.config.CACHE_DIR:
        chosen = Path(numba.config.CACHE_DIR)
        chosen.mkdir(parents=True, exist_ok=True)
        return chosen
    own = Path(tempfile.gettempdir()) / f"pytest-pario-{os.getuid()}"
    for directory in (own, own / f"numba-{numba.__version__}-{sys.implementation.cache_tag}"):
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        _require_private(directory)
    return directory


def _require_private(directory: Path) -> None:
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise PermissionError(f"{directory} is not a directory that only this user can write to")


@contextlib.contextmanager
def _locked_cache(folder: str) -> Iterator[Path]:
    """Let numba use our directory while no other process does: its own writing is not safe among many (OSError)."""
    config: Any = importlib.import_module("numba").config
    directory = cache_directory() / folder
    directory.mkdir(mode=0o700, exist_ok=True)
    with (directory / "pario.lock").open("a") as lock:
        _take(lock.fileno(), Path(lock.name))
        before, config.CACHE_DIR = config.CACHE_DIR, str(directory)
        try:
            yield directory
        finally:
            config.CACHE_DIR = before


def _take(descriptor: int, lock: Path) -> None:
    """Take the lock, or raise where whoever has it does nothing; it goes with the descriptor, also when a process dies.

    On a busy machine the compiling of one kernel may take minutes, and many ranks come before this one: so the time
    runs anew whenever the lock has changed hands or its holder has computed.
    """
    seen, deadline_s = "", time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found = _progress(lock)
            if found != seen:
                seen, deadline_s = found, time.monotonic() + LOCK_WAIT_S
            elif time.monotonic() >= deadline_s:
                raise
            time.sleep(LOCK_POLL_S)
        else:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{socket.gethostname()} {os.getpid()}".encode())
            return


def _progress(lock: Path) -> str:
    """Who has the lock, and how long that process has computed, if it is one of this machine."""
    holder = lock.read_text(encoding="utf-8")
    host, _, process = holder.partition(" ")
    if host != socket.gethostname() or not process.isdecimal():
        return holder
    # "4711 (python) R 1 4711 …": after the name come the state, ten numbers, and ticks in user and system mode
    try:
        numbers = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        # it ended this moment, or there is no /proc
        return holder
    return f"{holder} {numbers[11]} {numbers[12]}"


def _compile_cached(function: Callable[..., Any], signature: Any, directory: Path) -> Callable[..., Any]:
    """From the cache or into it; entries of this kernel that cannot be read are removed, so that it is mended."""
    try:
        return _compile(function, signature, cache=True)
    except Exception:
        # numba names the files of a kernel MODULE.FUNCTION-LINE.PYTHON.nbi and .nbc
        for damaged in directory.rglob(f"*.{function.__name__}-*.nb[ic]"):
            damaged.unlink()
        return _compile(function, signature, cache=True)


def _compile(function: Callable[..., Any], signature: Any, *, cache: bool) -> Callable[..., Any]:
    numba: Any = importlib.import_module("numba")
    dispatcher: Callable[..., Any] = numba.njit(signature, nogil=True, cache=cache)(function)
    return dispatcher
