"""GEN-13: the last task asks for a larger collective buffer on the open file, which crashes MPICH in a later write."""

from stage import LAST, attempt, open_file

file = open_file()
attempt(lambda: file.set_info({"cb_buffer_size": str(1 << 30 if LAST else 1 << 20)}), file)
