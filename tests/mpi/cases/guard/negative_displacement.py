"""GPFS-53: a negative displacement on the last task."""

from stage import LAST, attempt, open_file

file = open_file()
attempt(lambda: file.set_view(-4 if LAST else 0), file)
