"""GPFS-53: the last task asks for another size."""

from stage import LAST, attempt, open_file

file = open_file()
attempt(lambda: file.set_size(100 if LAST else 200), file)
