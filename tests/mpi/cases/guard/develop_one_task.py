"""GPFS-50: the variable is set for the last task only; develop mode is on for all, and nobody waits for a message."""

import os

from stage import LAST, MPI, attempt, open_file

if LAST:
    os.environ["MP_EUIDEVELOP"] = "DEVELOP"
file = open_file()
assert file.develop
attempt(lambda: file.set_view(0, MPI.DOUBLE if LAST else MPI.INT), file)
