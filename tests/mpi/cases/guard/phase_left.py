"""ERR-13: the last task leaves a phase with an error of its own while the others are in a collective call."""

from stage import LAST, RANK, attempt, open_file

file = open_file()


def write():
    with file.phase("pieces"):
        file.write_at_all(RANK * 10, b"0123456789")
        if LAST:
            raise ZeroDivisionError
        file.write_at_all(RANK * 10, b"0123456789")


attempt(write, file)
