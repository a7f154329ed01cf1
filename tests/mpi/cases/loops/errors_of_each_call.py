"""Every call of the loop fails on every task: each is recorded with its class, and the next is made."""

import numpy as np
from stage import KINDS, MPI, class_of, make_loop, opened, tell

classes, calls = [], []
with opened(amode=MPI.MODE_CREATE | MPI.MODE_WRONLY) as file:
    for kind in KINDS:
        for timed in (False, True):
            loop = make_loop(kind, file, "read_at", np.zeros(8, np.uint8), [0] * 3, [8] * 3, [0, 8, 16], timed=timed)
            assert loop.run() == 3 and not loop.moved_bytes.any()
            calls.append([call for call, _ in loop.errors])
            classes.append(sorted({class_of(code) for _, code in loop.errors}))
tell(calls=calls, classes=classes)
