"""What every case needs: the tasks, a file that all share, loops by name, and the line that each task prints."""

import contextlib
import json
import os
import sys
from pathlib import Path

import numpy as np

from pytest_pario import mpi
from pytest_pario.access.calls import find_call
from pytest_pario.access.loops import Loop, find_loop, mpi_series

MPI = mpi.load()
COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
LAST = RANK == SIZE - 1
CREATE = MPI.MODE_CREATE | MPI.MODE_RDWR
FILE = Path(sys.argv[1]) / "data"
KINDS = sys.argv[2:] or ["python", "compiled"]


def open_file(path=FILE, amode=CREATE):
    return MPI.File.Open(COMM, str(path), amode)


@contextlib.contextmanager
def opened(*arguments, **options):
    file = open_file(*arguments, **options)
    yield file
    file.Close()


def make_loop(kind, file, name, buffer, starts, sizes, offsets=None, **options):
    series = mpi_series(file, find_call(name), buffer, starts, sizes, offsets=offsets)
    return Loop(series, find_loop(kind), **options)


def class_of(code):
    """The MPI error class as its name."""
    number = MPI.Get_error_class(code)
    return next(name for name, value in vars(MPI).items() if name.startswith("ERR_") and value == number)


def tell(**facts):
    """Print one line in one piece, so that the lines of tasks do not mix."""
    sys.stdout.flush()
    os.write(1, (json.dumps({"rank": RANK, **facts}) + "\n").encode())
