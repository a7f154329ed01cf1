"""ENV-04: each task has its own displacement under a shared pointer."""

from stage import LAST, attempt, open_file

file = open_file()
file.set_view(100 if LAST else 0)
attempt(lambda: file.write_ordered(b"abcd"), file)
