"""GPFS-51, develop mode: another name for the same file is no mismatch."""

from stage import DIRECTORY, FILE, LAST, MPI, RANK, attempt, make_file, open_file

if RANK == 0:
    (DIRECTORY / "link").symlink_to(FILE)
make_file()
attempt(lambda: open_file(DIRECTORY / "link" if LAST else FILE, MPI.MODE_RDWR, develop=True).close())
