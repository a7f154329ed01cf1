"""How much of a file the page cache of this node holds, and how that was found out (CONS-48).

A fraction of 0 is necessary for a cold read, not proof of one: a server, a hypervisor or a file system with a cache of
its own (the pagepool of GPFS, io-cache of GlusterFS) may still have the data.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pytest_pario.units import MiB

Method = Literal["cachestat", "mincore", "nowait", "none"]

PAGE = mmap.PAGESIZE
CACHESTAT = 451
"""Number of the system call, the same on every architecture but alpha."""
WINDOW = 64 * MiB
WINDOWS = 64
"""mincore looks at 64 windows of 64 MiB at most: every page up to 4 GiB, an even sample of larger files."""
PAGES = 256
"""RWF_NOWAIT tries this many pages, evenly spread."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


@dataclass(frozen=True)
class Residency:
    """What of a file is in the page cache of this node."""

    fraction: float | None
    """Part of the file's pages that is cached, 0 to 1; None where no method works here."""
    dirty: float | None
    """Part that is not yet on its way to the device or not yet there; such pages cannot be evicted."""
    method: Method
    """How it was found out."""


class _Range(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("length", ctypes.c_uint64))


class _Cached(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_uint64) for name in ("cached", "dirty", "writeback", "evicted", "recently_evicted")
    )


def resident_fraction(
    path: str | os.PathLike[str], methods: Sequence[Method] = ("cachestat", "mincore", "nowait")
) -> Residency:
    """Measure with the first method that works; cheap for large files, and nothing is read into the cache."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(fd).st_size
        if size == 0:
            return Residency(0.0, 0.0, "none")
        for method in methods:
            with contextlib.suppress(OSError):
                return _METHODS[method](fd, size)
    finally:
        os.close(fd)
    return Residency(None, None, "none")


def _by_cachestat(fd: int, size: int) -> Residency:
    asked, told = _Range(0, size), _Cached()
    if _libc.syscall(
        ctypes.c_long(CACHESTAT), ctypes.c_uint(fd), ctypes.byref(asked), ctypes.byref(told), ctypes.c_uint(0)
    ):
        raise _last_error("cachestat")
    if told.cached == 0:
        # a filesystem on top of another (overlay, passing FUSE) keeps no pages itself; a mapping shows those below
        with contextlib.suppress(OSError):
            below = _by_mincore(fd, size)
            if below.fraction:
                return below
    pages = -(-size // PAGE)
    # a page under write-back is no longer dirty, but cannot be dropped either
    return Residency(min(told.cached / pages, 1.0), min((told.dirty + told.writeback) / pages, 1.0), "cachestat")


def _by_mincore(fd: int, size: int) -> Residency:
    # Linux tells the truth to those only who own the file or may write to it; to others every page looks cached
    if os.fstat(fd).st_uid != os.geteuid() and not os.access(f"/proc/self/fd/{fd}", os.W_OK):
        raise PermissionError(errno.EPERM, "mincore: neither owner nor writer of the file")
    resident = pages = 0
    for offset in spread(size, WINDOW, WINDOWS):
        window = _mincore(fd, offset, min(WINDOW, size - offset))
        resident, pages = resident + int((window & 1).sum()), pages + len(window)
    return Residency(resident / pages, None, "mincore")


def _mincore(fd: int, offset: int, length: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    seen = np.zeros(-(-length // PAGE), dtype=np.uint8)
    with mmap.mmap(fd, length, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ, offset=offset) as mapped:
        view = np.frombuffer(mapped, dtype=np.uint8)
        failed = _libc.mincore(
            ctypes.c_void_p(view.ctypes.data), ctypes.c_size_t(length), ctypes.c_void_p(seen.ctypes.data)
        )
        problem = _last_error("mincore") if failed else None
        del view
    if problem:
        raise problem
    return seen


def _by_nowait(fd: int, size: int) -> Residency:
    # A refused read may start read-ahead; this advice keeps it to the page that was asked for. An upper bound, and so
    # the last resort of the three methods: holes need no I/O and answer at once, and so does now and then a page whose
    # read came back while the caller was off the processor (1 of 256 pages in one run of ten on a loaded machine)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    found = [_answers_at_once(fd, offset) for offset in spread(size, PAGE, PAGES)]
    return Residency(sum(found) / len(found), None, "nowait")


def _answers_at_once(fd: int, offset: int) -> bool:
    try:
        return os.preadv(fd, [bytearray(1)], offset, os.RWF_NOWAIT) == 1
    except BlockingIOError:
        return False


def spread(size: int, piece: int, most: int) -> Iterator[int]:
    """Offsets of at most `most` pieces of a file, evenly spread, the first and the last among them."""
    pieces = -(-size // piece)
    count = min(pieces, most)
    for k in range(count):
        # piece k of the sample is number k * (pieces - 1) // (count - 1) of the file
        yield (k * (pieces - 1) // (count - 1) if count > 1 else 0) * piece


def _last_error(call: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code), call)


_METHODS: Mapping[Method, Callable[[int, int], Residency]] = {
    "cachestat": _by_cachestat,
    "mincore": _by_mincore,
    "nowait": _by_nowait,
}
