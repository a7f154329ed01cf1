"""GPFS-51: the last task makes another call than the others."""

from stage import LAST, attempt, open_file

file = open_file()
attempt(file.sync if LAST else lambda: file.set_size(100), file)
