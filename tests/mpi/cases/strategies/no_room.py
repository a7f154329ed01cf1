"""One rank has no memory for a buffer: every rank leaves the call with an error, and the next call works."""

import json
import os
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from pytest_pario.schemes.settings import parse_strategy
from pytest_pario.strategies.catalogue import make_strategy
from pytest_pario.strategies.files import MpiFile
from pytest_pario.strategies.protocol import Movement, Site

comm, path = MPI.COMM_WORLD, Path(sys.argv[1]) / "no_room"
me, n = comm.rank, comm.size
STRATEGIES = ["two_phase", "data_shipping:block=512,stripe=2048", "resonant:unit=1024,nodes=3", "resonant:unit=1024,nodes=3,scheme=timed"]


class Full(Site):
    """A rank whose memory is used up."""

    def room(self, purpose, size):
        if me == n - 1 and purpose.startswith(sys.argv[2]) and size:
            raise MemoryError(purpose)
        return super().room(purpose, size)


handle = MPI.File.Open(comm, str(path), MPI.MODE_CREATE | MPI.MODE_RDWR | MPI.MODE_DELETE_ON_CLOSE)
told = {}
for text in STRATEGIES:
    for writes in (True, False):
        for kind in (Full, Site):
            site, strategy = kind(comm, MpiFile(handle)), make_strategy(parse_strategy(text))
            offsets = (np.arange(50)[::-1] * n + me) * 1000
            memory = np.full(50_000, me + 1, dtype=np.uint8) if writes else np.zeros(50_000, dtype=np.uint8)
            strategy.carry_out(site, Movement(offsets.astype(np.int64), np.arange(50) * 1000, np.full(50, 1000), memory, writes))
            comm.Barrier()
            fine = not site.errors and (memory == me + 1).all()
            told.setdefault(f"{text}/{writes}", []).append("ok" if fine else ([type(e).__name__ for e in site.errors] or ["told by another rank"])[0])
handle.Close()
os.write(1, (json.dumps({"rank": me, "told": told}) + "\n").encode())
