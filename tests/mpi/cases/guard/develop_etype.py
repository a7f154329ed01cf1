"""GPFS-51, develop mode: the etype of the last task has another size, which MPICH does not notice (ENV-16)."""

from stage import LAST, MPI, attempt, open_file

file = open_file()
attempt(lambda: file.set_view(0, MPI.DOUBLE if LAST else MPI.INT), file)
