"""GPFS-49: MPICH reports differing flags on one task only."""

from stage import LAST, attempt, open_file

file = open_file()
attempt(lambda: file.set_atomicity(LAST), file)
