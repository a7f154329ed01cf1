"""ERR-05: the name is that of a directory."""

from stage import DIRECTORY, attempt, open_file

attempt(lambda: open_file(DIRECTORY))
