"""Whatever would make C run out of the buffer, use a dead handle or hang the others is refused before any call."""

import time

import numpy as np
from stage import COMM, KINDS, make_loop, open_file, tell

from pytest_pario.access.calls import find_call
from pytest_pario.access.loops import mpi_series
from pytest_pario.errors import ParameterError

memory = np.zeros(64, np.uint8)
file = open_file()
names = []


def refuse(action, *arguments, **options):
    try:
        action(*arguments, **options)
    except ParameterError as refusal:
        names.append(refusal.name)
    else:
        names.append(None)


def series(name, *arguments, **options):
    mpi_series(file, find_call(name), memory, *arguments, **options)


refuse(series, "write_at_all", [0, 60], [8, 8], offsets=[0, 8])
refuse(series, "write_at_all", [0, 8], [8], offsets=[0, 8])
refuse(series, "write_at_all", [0], [-8], offsets=[0])
refuse(series, "write_at_all", [0], [8], offsets=[-8])
refuse(series, "write_at_all", [0], [8])
refuse(series, "write_all", [0], [8], offsets=[0])
refuse(series, "write_at", [0], [9], offsets=[0], etype_bytes=8)
refuse(series, "write_at", [0], [8], offsets=[2**60], etype_bytes=8)
refuse(series, "write_at", [0], [8], offsets=[0], etype_bytes=0)
refuse(mpi_series, 3, find_call("write"), memory, [0], [8])
for kind in KINDS:
    refuse(make_loop(kind, file, "write_all", memory, [0], [8]).run, deadline_ns=time.monotonic_ns())
    assert make_loop(kind, file, "write", memory, [0], [8]).run(deadline_ns=time.monotonic_ns() - 1) == 0
late = [make_loop(kind, file, "write", memory, [0], [8]) for kind in KINDS]
file.Close()
for loop in late:
    refuse(loop.run)
COMM.Barrier()
tell(names=names)
