"""ERR-13: the last task leaves the file's block with an error; all tasks close the file and leave too."""

from stage import LAST, RANK, attempt, open_file


def write():
    with open_file() as file:
        file.write_at_all(RANK * 10, b"0123456789")
        if LAST:
            raise ZeroDivisionError
        file.write_at_all(RANK * 10, b"0123456789")


attempt(write)
