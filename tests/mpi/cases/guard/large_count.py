"""ENV-05: more than 2 GiB in one call, counted right; the device takes any number of bytes without reading them."""

import numpy as np
from stage import MPI, attempt, open_file

file = open_file("/dev/null", MPI.MODE_WRONLY)
length = (1 << 31) + 4096
facts = {}


def write():
    with file:
        facts["moved"] = file.write_at_all(0, np.zeros(length, dtype=np.uint8))


attempt(write, facts=facts)
