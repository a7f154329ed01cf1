"""Direct I/O: what the kernel says about its alignment, and whether it really works."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from dataclasses import dataclass

AT_FDCWD = -100
STATX_DIOALIGN = 0x2000
TRIALS = (512, 4096)
"""Alignments to try, smallest first, where statx does not tell."""

_SIZE = 256
# struct statx: mask at 0x00; alignment of memory and of file offsets at 0x98 and 0x9c
_MASK = struct.Struct("=I")
_ALIGNMENT = struct.Struct("=II")
_ALIGNMENT_AT = 0x98


@dataclass(frozen=True)
class DirectIO:
    """What direct I/O on a file needs."""

    works: bool
    memory_align: int
    """Bytes to which a buffer must be aligned; 0 where direct I/O does not work."""
    offset_align: int
    """Bytes of which offsets and lengths must be multiples; 0 where direct I/O does not work."""
    source: str
    """statx, or trial."""


def direct_io(path: str) -> DirectIO:
    """Find the alignment that a writable file needs; writes and reads back at most one block at its beginning."""
    told = alignment_by_statx(path)
    if told == (0, 0):
        return DirectIO(False, 0, 0, "statx")
    if told and _moves(path, max(told)):
        return DirectIO(True, *told, "statx")
    for size in TRIALS:
        if _moves(path, size):
            return DirectIO(True, size, size, "trial")
    return DirectIO(False, 0, 0, "trial")


def alignment_by_statx(path: str) -> tuple[int, int] | None:
    """Alignment of memory and of offsets; (0, 0) is a no, None where kernel or filesystem do not tell."""
    buffer = ctypes.create_string_buffer(_SIZE)
    try:
        statx = ctypes.CDLL(None).statx
    except AttributeError:
        return None
    if statx(AT_FDCWD, os.fsencode(path), 0, ctypes.c_uint(STATX_DIOALIGN), buffer) != 0:
        return None
    (mask,) = _MASK.unpack_from(buffer.raw)
    memory, offset = _ALIGNMENT.unpack_from(buffer.raw, _ALIGNMENT_AT)
    return (int(memory), int(offset)) if mask & STATX_DIOALIGN else None


def _moves(path: str, size: int) -> bool:
    """Whether one block of this size can be written past the page cache and comes back the same."""
    sent = bytes(k % 251 for k in range(size))
    try:
        fd = os.open(path, os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # an anonymous mapping begins on a page
        with mmap.mmap(-1, max(size, mmap.PAGESIZE)) as memory, memoryview(memory) as view, view[:size] as block:
            block[:] = sent
            if os.pwritev(fd, [block], 0) != size:
                return False
            block[:] = bytes(size)
            return os.preadv(fd, [block], 0) == size and bytes(block) == sent
    except OSError:
        return False
    finally:
        os.close(fd)
