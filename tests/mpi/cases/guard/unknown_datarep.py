"""GPFS-53: a data representation that nobody knows, on the last task."""

from stage import LAST, MPI, attempt, open_file

file = open_file()
attempt(lambda: file.set_view(0, MPI.BYTE, MPI.BYTE, "vax" if LAST else "native"), file)
