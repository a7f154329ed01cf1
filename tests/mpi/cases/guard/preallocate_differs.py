"""GPFS-51: the last task wants room for more."""

from stage import LAST, attempt, open_file

file = open_file()
attempt(lambda: file.preallocate(200 if LAST else 100), file)
