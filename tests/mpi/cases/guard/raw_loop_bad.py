"""GPFS-54: one bad offset among those of the last task; no call of the loop is made on any task."""

from stage import LAST, RANK, attempt, open_file

file = open_file()
offsets = [RANK * 100, -5 if LAST else RANK * 200]
attempt(lambda: file.check_before("write_at_all", [(offset, bytes(10)) for offset in offsets]).run(), file)
