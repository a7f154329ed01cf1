"""GPFS-51, develop mode: a collective hint differs on the last task; one that may differ does not matter."""

from stage import LAST, RANK, attempt, open_file

hints = {"cb_buffer_size": "65536" if LAST else "131072", "ind_rd_buffer_size": str(65536 + RANK)}
attempt(lambda: open_file(info=hints))
