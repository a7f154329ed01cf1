"""GPFS-53: the last task opens with another access mode."""

from stage import LAST, MPI, attempt, make_file, open_file

make_file()
attempt(lambda: open_file(amode=MPI.MODE_RDONLY if LAST else MPI.MODE_RDWR))
