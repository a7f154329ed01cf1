"""Space that a filesystem reserves without writing: fallocate(2), for which Python has only a call that may write."""

from __future__ import annotations

import ctypes
import errno
import os

REFUSED = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
"""What a kernel or a filesystem says that cannot do it."""


def reserve_space(descriptor: int, size: int) -> bool:
    """Reserve the first `size` bytes of a file as unwritten extents; False where the filesystem cannot."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.fallocate64(descriptor, 0, ctypes.c_int64(0), ctypes.c_int64(size)) == 0:
        return True
    code = ctypes.get_errno()
    if code in REFUSED:
        return False
    raise OSError(code, os.strerror(code))
