"""Something happens to the file between writing and reading; every task must be told the same."""

import os
import shutil

from stage import COMM, DIRECTORY, run, tell

from pytest_pario.workloads.btio import run as running
from pytest_pario.workloads.btio.classes import find_class
from pytest_pario.workloads.btio.outputs import SUBTYPES

FIELD = find_class("S").field_bytes
synced = running._Running._sync


def harmed(subtype, mode, harm, **more):
    """The error of a run whose file was harmed after it was written."""

    def sync(self):
        seconds = synced(self)
        COMM.Barrier()
        if COMM.rank == 0:
            harm(DIRECTORY / f"btio.{subtype}.out")
        COMM.Barrier()
        return seconds

    running._Running._sync = sync
    try:
        run("S", subtype, mode, **more)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        running._Running._sync = synced
    return "nothing was noticed"


def flip(path):
    with path.open("r+b") as file:
        file.seek(7 * FIELD + 4321)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


def swap(path):
    data = path.read_bytes()
    parts = [data[n * FIELD : (n + 1) * FIELD] for n in range(12)]
    parts[2], parts[9] = parts[9], parts[2]
    path.write_bytes(b"".join(parts))


def lose(path):
    with path.open("r+b") as file:
        file.seek(3 * FIELD)
        file.write(bytes(FIELD))


def cut(path):
    os.truncate(path, 11 * FIELD)


def replace(path):
    shutil.copy(DIRECTORY / "former", path)


def grow(path):
    os.truncate(path, 13 * FIELD)


run("S", "fortran", "replay", seed=99)
if COMM.rank == 0:
    shutil.move(DIRECTORY / "btio.fortran.out", DIRECTORY / "former")
COMM.Barrier()
told = {}
for subtype, mode in (("full", "solved"), ("fortran", "replay")):
    for harm in (flip, swap, lose, cut, replace, grow):
        told[f"{subtype} {mode} {harm.__name__}"] = harmed(subtype, mode, harm, seed=5)

# a file of a former run that cannot be removed is not taken for a new one
for kind in (SUBTYPES["simple"], SUBTYPES["epio"]):
    remove, kind.remove = kind.remove, lambda self: COMM.Barrier()
    try:
        run("S", kind.name)
        run("S", kind.name)
        told[f"{kind.name} stale"] = "nothing was noticed"
    except Exception as error:
        told[f"{kind.name} stale"] = f"{type(error).__name__}: {error}"
    finally:
        kind.remove = remove

# one task alone meets an error in the middle of the run
transfer = SUBTYPES["fortran"].transfer


def fail(self, number):
    transfer(self, number)
    if COMM.rank == 1 and number == 3:
        self.note(OSError(28, "No space left on device"))


SUBTYPES["fortran"].transfer = fail
try:
    run("S", "fortran")
    told["one fails"] = "nothing was noticed"
except Exception as error:
    told["one fails"] = f"{type(error).__name__}: {error}"
SUBTYPES["fortran"].transfer = transfer
run("S", "fortran")

# what one task alone cannot do: remove an old file, or find the new one
if COMM.rank == 0:
    (DIRECTORY / "btio.simple.out").unlink(missing_ok=True)
    (DIRECTORY / "btio.simple.out").mkdir()
COMM.Barrier()
try:
    run("S", "simple")
    told["cannot remove"] = "nothing was noticed"
except Exception as error:
    told["cannot remove"] = f"{type(error).__name__}: {error}"
COMM.Barrier()
if COMM.rank == 0:
    (DIRECTORY / "btio.simple.out").rmdir()
told["vanished"] = harmed("full", "replay", lambda path: path.unlink())
tell(told=told)
