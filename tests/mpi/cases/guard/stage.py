"""What every case needs: the tasks, a file name that all share, and the line that each task prints."""

import json
import os
import sys
from pathlib import Path

from pytest_pario import mpi
from pytest_pario.access.guard import GuardedFile

MPI = mpi.load()
COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
LAST = RANK == SIZE - 1
CREATE = MPI.MODE_CREATE | MPI.MODE_RDWR
DIRECTORY = Path(sys.argv[1])
FILE = DIRECTORY / "data"


def open_file(path=FILE, amode=CREATE, info=None, **options):
    return GuardedFile.open(COMM, path, amode, info, **options)


def make_file(length=4096, path=FILE):
    """Have a file of this length before any task goes on."""
    if RANK == 0:
        path.write_bytes(b"x" * length)
    COMM.Barrier()


def tell(**facts):
    """Print one line in one piece, so that the lines of tasks do not mix."""
    sys.stdout.flush()
    os.write(1, (json.dumps({"rank": RANK, **facts}) + "\n").encode())


def go_on():
    """Show that the program is in order after an error: open another file, write, read, close."""
    with open_file(DIRECTORY / "another") as file:
        file.write_at_all(RANK * 8, b"%08d" % RANK)
        file.sync()
        piece = bytearray(8)
        file.read_at_all((RANK + 1) % SIZE * 8, piece)
        assert piece == b"%08d" % ((RANK + 1) % SIZE), piece


def attempt(action, file=None, **facts):
    """Do it, then use the same file and another one, and tell what error this task got."""
    error = None
    try:
        action()
    except Exception as caught:
        error = caught
    if file is not None:
        file.set_view()
        if not file.amode & MPI.MODE_RDONLY:
            file.write_at_all(RANK * 8, b"recovers")
        file.close()
    go_on()
    keys = ("error_class", "ranks", "arguments", "name", "text")
    found = {key: getattr(error, key) for key in keys if hasattr(error, key)}
    cause = getattr(error, "__cause__", None)
    tell(error=type(error).__name__ if error else None, **found, cause=type(cause).__name__, **facts)
