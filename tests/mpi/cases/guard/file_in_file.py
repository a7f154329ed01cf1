"""ERR-13: an error in a file of the last task's own leaves the block of the common file too, and reaches all."""

from stage import CREATE, DIRECTORY, LAST, MPI, RANK, GuardedFile, attempt, open_file


def write():
    with open_file() as common:
        with GuardedFile.open(MPI.COMM_SELF, DIRECTORY / f"own{RANK}", CREATE) as own:
            own.write_at_all(-1 if LAST else 0, b"a")
        common.write_at_all(RANK, b"a")


attempt(write)
