"""GPFS-53: a negative offset on the last task."""

from stage import LAST, RANK, attempt, open_file

file = open_file()
attempt(lambda: file.write_at_all(-1 if LAST else RANK * 100, bytes(100)), file)
