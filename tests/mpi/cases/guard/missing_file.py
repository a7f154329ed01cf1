"""GPFS-53: the file does not exist for the last task."""

from stage import DIRECTORY, FILE, LAST, MPI, attempt, make_file, open_file

make_file()
attempt(lambda: open_file(DIRECTORY / "absent" if LAST else FILE, MPI.MODE_RDONLY))
