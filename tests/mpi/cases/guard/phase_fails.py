"""GPFS-54: independent calls fail on the last task; all tasks learn it at the end of the phase."""

from stage import LAST, RANK, attempt, open_file

file = open_file()


def write():
    with file.phase("three pieces"):
        for piece in range(3):
            file.write_at(-1 if LAST and piece == 1 else (RANK * 3 + piece) * 10, b"0123456789")


attempt(write, file)
