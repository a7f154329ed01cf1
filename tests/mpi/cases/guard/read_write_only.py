"""ERR-05: all tasks read from a file that was opened to be written; Open MPI would report success."""

from stage import MPI, RANK, attempt, open_file

file = open_file(amode=MPI.MODE_CREATE | MPI.MODE_WRONLY)
attempt(lambda: file.read_at_all(RANK, bytearray(1)), file)
