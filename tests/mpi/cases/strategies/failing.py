"""One rank cannot touch the file: every rank is told, nobody hangs, and the next call works."""

import json
import os
import sys
from pathlib import Path

from mpi4py import MPI

from pytest_pario.access.executor import Manner, leave_together, run_pass
from pytest_pario.access.target import Target, prepare_new
from pytest_pario.errors import ParioError
from pytest_pario.model import Open, Pattern
from pytest_pario.patterns import Scattered, Strided, content_of, plan, ring_payload
from pytest_pario.access.verification import make_reading_room, verify_written
from pytest_pario.schemes.settings import parse_strategy
from pytest_pario.strategies.files import MpiFile

comm, directory = MPI.COMM_WORLD, Path(sys.argv[1])
me, n = comm.rank, comm.size
broken = n - 1
STRATEGIES = [
    "two_phase",
    "data_shipping:block=512,stripe=2048",
    "data_shipping:block=512,stripe=4096,max_pre=3,max_acc=2",
    "resonant:unit=1024,nodes=3",
    "resonant:unit=1024,nodes=3,scheme=timed",
    "resonant:unit=1024,nodes=3,scheme=agents,second=exchange",
    "resonant:unit=1024,nodes=3,scheme=agents,per_node=2",
    "resonant:unit=1024,nodes=3,scheme=agents,per_node=2,second=exchange",
]


class Failing(MpiFile):
    """A file whose disk is gone for one rank."""

    def write_at(self, *_arguments, **_named):
        raise OSError(5, "Input/output error")

    read_at = start_write = start_read = start_list = write_at


class Watched(MpiFile):
    """Knows how often it was asked for a read that is not waited for."""

    started = 0

    def start_read(self, offset, out):
        Watched.started += 1
        return super().start_read(offset, out)


import pytest_pario.access.delegated as delegated

told, ahead = {}, 0
for text in STRATEGIES:
    # agents read ahead only where their ranges are irregular
    layout = Scattered(512, 40 * n, seed=3, fraction=0.5) if "max_pre" in text else Strided(1000, per_call=4, ncalls=3)
    pattern = Pattern("failing", layout, True, open=Open(presize=True))
    target = Target(comm, pattern, directory / "failing", {})
    work = plan(pattern, n)
    content = content_of(work, 1)
    prepare_new(target, work)
    for phase in ("write", "read"):
        for kind in (Failing if me == broken else Watched, Watched):
            delegated.MpiFile = kind
            payload = ring_payload(content, me, work.ranks[me]) if phase == "write" else make_reading_room(target, work)
            error = None
            try:
                done = run_pass(target, work, phase, payload, Manner(strategy=parse_strategy(text)))
                leave_together(target, phase, done)
                if phase == "write":
                    verify_written(target, work, content)
            except (ParioError, OSError) as caught:
                error = caught
            told.setdefault(f"{text}/{phase}", []).append(type(error).__name__ if error else "ok")
    ahead += Watched.started if "max_pre" in text else 0
    Watched.started = 0
    comm.Barrier()
    if me == 0:
        target.path.unlink()
    comm.Barrier()
os.write(1, (json.dumps({"rank": me, "told": told, "ahead": ahead}) + "\n").encode())
