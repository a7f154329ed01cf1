"""What every case needs: the tasks, a directory, runs of class S, and the line that each task prints."""

import json
import os
import sys
from pathlib import Path

from pytest_pario import mpi
from pytest_pario.workloads.btio.classes import find_class
from pytest_pario.workloads.btio.run import Run, run_btio

COMM = mpi.load().COMM_WORLD
DIRECTORY = Path(sys.argv[1])


def run(problem, subtype, mode="solved", keep=True, **more):
    """One run, whose files stay if nothing else is said."""
    return run_btio(COMM, Run(find_class(problem), subtype, mode, fstype="ext4", keep=keep, **more), DIRECTORY)


def tell(**facts):
    """Print one line in one piece, so that the lines of tasks do not mix."""
    sys.stdout.flush()
    os.write(1, (json.dumps({"rank": COMM.rank, **facts}) + "\n").encode())
