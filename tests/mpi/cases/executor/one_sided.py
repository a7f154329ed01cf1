"""What goes wrong on the last rank only, before or inside a pass: every rank must leave; prints how each one left."""

import json
import os
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mpi4py import MPI

from pytest_pario.access import executor, posix, verification
from pytest_pario.measure import cache
from pytest_pario.model import Access, Pattern, Timed
from pytest_pario.patterns import Segmented, Strided
from pytest_pario.workloads.runner import Runner, RunRules

comm, directory = MPI.COMM_WORLD, Path(sys.argv[1])
last = comm.rank == comm.size - 1
POSIX = Pattern("posix", Segmented(8192, (4096,) * 2), pointer="explicit", api="posix")
EACH = Pattern("each", Segmented(8192, (4096,) * 2), files="each")
SHARED = Pattern("shared", Strided(1000, ncalls=3), coll=True)
TIMED = Pattern("timed", Segmented(1 << 30, (4096,)), files="each", repeat=Timed(0.05, 1, 1))


@contextmanager
def broken(place: Any, name: str, problem: Exception) -> Iterator[None]:
    """On the last rank a function only raises."""

    def fail(*_: Any, **__: Any) -> None:
        raise problem

    kept = getattr(place, name)
    if last:
        setattr(place, name, fail)
    try:
        yield
    finally:
        setattr(place, name, kept)


@contextmanager
def without_files() -> Iterator[None]:
    """No file can be opened by the POSIX pass, as where a process has all that it may have."""

    def refuse(*_: Any) -> int:
        raise OSError(24, "Too many open files")

    if last:
        posix.os = types.SimpleNamespace(**{**vars(os), "open": refuse})  # type: ignore[assignment]
    try:
        yield
    finally:
        posix.os = os


def leave(pattern: Pattern, phase: Access, **rules: Any) -> str:
    try:
        Runner(comm, directory, "ext4", RunRules(rounds=1, warmup_rounds=0, **rules)).run(pattern, phase)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "fine"


no_file = MPI.Exception(MPI.ERR_NO_SUCH_FILE)
told = {}
odd = Pattern("odd", Segmented(1000, (512,)), pointer="explicit", api="posix")
told["aligned"] = leave(odd, "write", direct=512)
with without_files():
    told["posix open"] = leave(POSIX, "write")
with broken(executor._MpiFile, "open", no_file):
    told["mpi open"] = leave(EACH, "write")
    told["timed open"] = leave(TIMED, "write")
with broken(executor._MpiFile, "sync", MPI.Exception(MPI.ERR_NO_SPACE)):
    told["sync"] = leave(EACH, "write")
with broken(executor._Viewing, "_set", no_file):
    told["view"] = leave(EACH, "write")
with broken(executor, "_build", MemoryError("no room for a filetype")):
    told["filetype"] = leave(SHARED, "write", manner=executor.Manner(types_inside=True))
with broken(cache, "evict", OSError(5, "Input/output error")):
    told["evict"] = leave(SHARED, "read")
with broken(verification, "verify_file", OSError(24, "Too many open files")):
    told["verify"] = leave(SHARED, "write")
told["nothing"] = leave(SHARED, "read")
comm.Barrier()
mine = {"rank": comm.rank, "told": told, "left": [p.name for p in directory.iterdir()]}
for one in comm.gather(mine, root=0) or []:
    print(json.dumps(one))
