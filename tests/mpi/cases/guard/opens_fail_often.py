"""A failed open leaves nothing open: no descriptor, and no communicator, of which MPICH has about two thousand."""

import os

from stage import CREATE, MPI, SIZE, attempt, make_file, open_file

make_file()


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def fail_often():
    counts = []
    for _ in range(2500 if SIZE == 1 else 40):
        try:
            open_file(amode=CREATE | MPI.MODE_EXCL)
        except Exception:
            counts.append(descriptors())
    assert counts[-1] == counts[2], (counts[2], counts[-1])


attempt(fail_often)
