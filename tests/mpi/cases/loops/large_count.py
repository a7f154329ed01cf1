"""ENV-05: more than 2 GiB in one call beside small ones, counted right; the device takes bytes without reading them."""

import numpy as np
from stage import KINDS, MPI, make_loop, opened, tell

length = (1 << 31) + 4097
memory = np.zeros(length, np.uint8)
moved = []
with opened("/dev/null", MPI.MODE_WRONLY) as file:
    for kind in KINDS:
        loop = make_loop(kind, file, "write_at", memory, [0, 7, 1], [length, 100, length - 1], [0, 0, 8])
        loop.run()
        assert not loop.errors
        moved.append(loop.moved_bytes.tolist())
tell(moved=moved)
