"""ERR-05: MODE_EXCL on a file that is there; MPICH tells the reason to one task only (ENV-18)."""

from stage import CREATE, MPI, attempt, make_file, open_file

make_file()
attempt(lambda: open_file(amode=CREATE | MPI.MODE_EXCL))
