"""ENV-16: the file type of the last task is not made of whole etypes."""

from stage import LAST, MPI, attempt, open_file

file = open_file()
attempt(lambda: file.set_view(0, MPI.DOUBLE, MPI.INT if LAST else MPI.DOUBLE), file)
