"""ERR-13: the last task closes in a finally clause while the others are in another call; they close then too."""

from stage import LAST, RANK, attempt, open_file


def write():
    file = open_file()
    try:
        if not LAST:
            file.write_at_all(RANK * 10, b"0123456789")
    finally:
        file.close()


attempt(write)
