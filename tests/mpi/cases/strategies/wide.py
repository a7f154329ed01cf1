"""A million extents on each rank, ordered and interleaved, a thousand that are too far apart to move what lies between,
and few extents terabytes apart; calls of the file counted, a list as one."""

import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from pytest_pario.schemes.settings import parse_strategy
from pytest_pario.strategies.catalogue import make_strategy
from pytest_pario.strategies.files import MpiFile
from pytest_pario.strategies.protocol import Movement, Site

comm, path, count = MPI.COMM_WORLD, Path(sys.argv[1]) / "wide", int(sys.argv[2])
me, n, LENGTH, STRIDE, FAR = comm.rank, comm.size, 8, 24, 4 * 10**12
STRATEGIES = ["two_phase", "data_shipping", "resonant:unit=65536,nodes=4", "resonant:unit=65536,nodes=4,scheme=timed"]
PLACED = {
    "ordered": (np.arange(count) + me * count) * STRIDE,
    "interleaved": np.arange(count) * STRIDE * n + me * LENGTH,
    "sparse": np.arange(1000) * 20_480 * n + me * 20_480 + 100,
    "far apart": np.array([me * 1000, FAR + me * 1000]),
}


class Counting(MpiFile):
    """A file that knows how often it was asked."""

    calls = 0

    def _move(self, *arguments):
        Counting.calls += 1
        return super()._move(*arguments)

    def _start(self, *arguments):
        Counting.calls += 1
        return super()._start(*arguments)

    def start_list(self, *arguments, **named):
        Counting.calls += 1
        return super().start_list(*arguments, **named)


found = []
for name, offsets in PLACED.items():
    offsets = offsets.astype(np.int64)
    handle = MPI.File.Open(comm, str(path), MPI.MODE_CREATE | MPI.MODE_RDWR | MPI.MODE_DELETE_ON_CLOSE)
    end = {"far apart": 0, "sparse": 1000 * 20_480 * n}.get(name, count * STRIDE * n)
    if me == 0 and end:
        handle.Write_at(0, np.full(end, 0xEE, dtype=np.uint8))
    comm.Barrier()
    for number, text in enumerate(STRATEGIES):
        Counting.calls, site = 0, Site(comm, Counting(handle, str(path)))
        places, lengths = np.arange(offsets.size) * LENGTH, np.full(offsets.size, LENGTH)
        memory = np.full(offsets.size * LENGTH, 16 * number + me + 1, dtype=np.uint8)
        strategy = make_strategy(parse_strategy(text))
        strategy.carry_out(site, Movement(offsets, places, lengths, memory, True))
        comm.Barrier()
        kept = 0
        if me == 0 and end:
            image = np.fromfile(path, dtype=np.uint8)
            kept = int((image == 0xEE).sum())
        back = np.zeros_like(memory)
        strategy.carry_out(site, Movement(offsets, places, lengths, back, False))
        site.file.settle()
        fine = bool((back == memory).all()) and not site.errors
        calls = comm.allreduce(Counting.calls, op=MPI.MAX)
        found.append([name, text, comm.allreduce(fine, op=MPI.LAND), calls, kept == end - n * offsets.size * LENGTH or not end, offsets.size])
    handle.Close()
if me == 0:
    print(json.dumps({"rank": 0, "found": found}))
