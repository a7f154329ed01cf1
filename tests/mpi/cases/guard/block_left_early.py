"""ERR-13: the last task fails in the block; the others have nothing more to do and are closing the file."""

from stage import LAST, attempt, open_file


def fail():
    with open_file():
        if LAST:
            raise ZeroDivisionError


attempt(fail)
