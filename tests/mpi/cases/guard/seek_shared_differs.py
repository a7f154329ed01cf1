"""GPFS-53: the last task moves the shared pointer to another place; without a guard MPICH hangs in close (ENV-20)."""

from stage import LAST, attempt, open_file

file = open_file()
attempt(lambda: file.seek_shared(100 if LAST else 200), file)
