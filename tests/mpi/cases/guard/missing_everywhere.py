"""ERR-05: the file does not exist at all; every task has the error itself."""

from stage import MPI, attempt, open_file

attempt(lambda: open_file(amode=MPI.MODE_RDONLY))
