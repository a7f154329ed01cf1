"""A file of every second task: only they are told of the error, and ranks are those of the whole job."""

from stage import COMM, CREATE, DIRECTORY, LAST, RANK, GuardedFile, attempt

half = COMM.Split(RANK % 2, RANK)


def write():
    with GuardedFile.open(half, DIRECTORY / f"half{RANK % 2}", CREATE) as file:
        file.write_at_all(-1 if LAST else RANK, b"a")


attempt(write)
