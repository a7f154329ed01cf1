"""GPFS-53: the last task names a file in a directory that does not exist."""

from stage import DIRECTORY, FILE, LAST, attempt, open_file

attempt(lambda: open_file(DIRECTORY / "nowhere" / "data" if LAST else FILE))
