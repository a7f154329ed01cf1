"""GPFS-53: a full disk; every write to this device ends with ENOSPC."""

from stage import MPI, RANK, attempt, open_file

file = open_file("/dev/full", MPI.MODE_WRONLY)


def write():
    with file:
        file.write_at_all(RANK * 100, bytes(100))


attempt(write)
