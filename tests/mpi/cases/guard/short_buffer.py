"""The last task's buffer is shorter than its count says; mpi4py would read what lies behind it."""

from stage import LAST, MPI, RANK, attempt, open_file

file = open_file()
attempt(lambda: file.write_at_all(RANK * 100, [bytes(10 if LAST else 100), 100, MPI.BYTE]), file)
