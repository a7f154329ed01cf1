"""ENV-05: more than 2 GiB on the last task only; a library that cannot do it must not keep the others waiting."""

import numpy as np
from stage import LAST, MPI, attempt, open_file

file = open_file("/dev/null", MPI.MODE_WRONLY)


def write():
    with file:
        file.write_at_all(0, np.zeros(((1 << 31) + 4096) if LAST else 0, dtype=np.uint8))


attempt(write)
