"""GPFS-53: a disk of 256 KiB, on which three of four tasks have no room and MPICH lets one succeed (ENV-19)."""

from stage import DIRECTORY, RANK, attempt, open_file

file = open_file(DIRECTORY / "disk" / "data")


def write():
    with file:
        file.write_at_all(RANK * 200_000, bytes(300_000))


attempt(write)
