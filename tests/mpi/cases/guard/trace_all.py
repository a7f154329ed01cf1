"""GPFS-57: operations and errors of every task are in its trace."""

from stage import LAST, RANK, attempt, open_file

file = open_file()
file.write_at_all(RANK * 100, bytes(100))
attempt(lambda: file.write_at_all(-1 if LAST else 0, bytes(100)), file)
