"""GPFS-54: the last task has one collective call more than the others."""

from stage import LAST, RANK, attempt, open_file

file = open_file()
attempt(lambda: file.check_before("write_at_all", [(RANK * 10, b"0123456789")] * (4 if LAST else 3)).run(), file)
