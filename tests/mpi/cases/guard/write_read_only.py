"""GPFS-53: all tasks write to a file that was opened to be read."""

from stage import MPI, RANK, attempt, make_file, open_file

make_file()
file = open_file(amode=MPI.MODE_RDONLY)
attempt(lambda: file.write_at_all(RANK, b"a"), file)
