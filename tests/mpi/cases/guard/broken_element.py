"""ENV-16: the last task writes half an etype; the others of MPICH would wait for ever."""

from stage import LAST, MPI, RANK, attempt, open_file

file = open_file()
file.set_view(RANK * 64, MPI.DOUBLE, MPI.DOUBLE)
attempt(lambda: file.write_all(bytes(4 if LAST else 8)), file)
