"""How files are opened, synced and closed: a recorder stands in for the library's file."""

import json
import sys
from itertools import groupby
from pathlib import Path

from mpi4py import MPI

from pytest_pario import mpi
from pytest_pario.units import MiB
from pytest_pario.workloads.beffio.execution import PartitionRun, Surroundings
from pytest_pario.workloads.beffio.schedule import order
from pytest_pario.workloads.beffio.settings import Machine, Settings

FLAGS = ("CREATE", "RDWR", "RDONLY", "WRONLY", "EXCL", "DELETE_ON_CLOSE", "UNIQUE_OPEN", "SEQUENTIAL", "APPEND")
comm, directory, word = MPI.COMM_WORLD.Dup(), Path(sys.argv[1]), sys.argv[2]
seen = []


class Recorder(MPI.File):
    @classmethod
    def Open(cls, comm, name, amode, info):
        names = sorted(flag for flag in FLAGS if amode & getattr(MPI, f"MODE_{flag}"))
        seen.append(("open", names, Path(name).exists()))
        MPI.COMM_WORLD.Barrier()
        return super().Open(comm, name, amode, info)

    def Sync(self):
        seen.append(("sync",))
        super().Sync()

    def Close(self):
        seen.append(("close",))
        super().Close()


class Library:
    """The library but for its files."""

    File = Recorder

    def __getattr__(self, name):
        return getattr(MPI, name)


mpi.load = Library
machine = Machine(comm.size, comm.size, 256 * MiB, 1024 * MiB)
settings = Settings(0.1, machine, (comm.size,), rewrite="all", limit_bytes=MiB, unique_open=word == "unique", noshared=True)
if comm.rank == 0:
    for kind in ("scatter", "shared", "separated.0", "separated.1", "segmented", "seg_coll"):
        (directory / f"n{comm.size}-{kind}").write_bytes(b"old" * MiB)
comm.Barrier()
run = PartitionRun(comm, settings, Surroundings(directory, "ext4", seed=7, keep=word == "keep"))
for (_, access, kind), group in groupby(order(settings.partitions, "2.0", "all"), lambda step: step.file_key):
    steps, syncs = list(group), []
    seen.clear()
    for number, step in enumerate(steps):
        before = seen.count(("sync",))
        run.run(step, last=number + 1 == len(steps))
        syncs.append(seen.count(("sync",)) - before)
    told = {"rank": comm.rank, "access": access, "kind": kind, "patterns": len(steps), "syncs": syncs}
    told["opened"] = [one[1] for one in seen if one[0] == "open"]
    told["old_file_seen"] = any(one[2] for one in seen if one[0] == "open")
    told["closed"] = seen.count(("close",))
    if comm.rank == 0:
        print(json.dumps(told))
