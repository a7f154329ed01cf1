"""GPFS-51, develop mode: the last task opens another file, which is there too."""

from stage import DIRECTORY, FILE, LAST, MPI, attempt, make_file, open_file

make_file()
make_file(path=DIRECTORY / "other")
attempt(lambda: open_file(DIRECTORY / "other" if LAST else FILE, MPI.MODE_RDWR))
