"""GPFS-49: the last task cannot write all its bytes (EFBIG), and MPICH reports that to nobody else."""

import resource

from stage import LAST, RANK, attempt, open_file

file = open_file()
unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


def write():
    if LAST:  # Python ignores SIGXFSZ, so the write fails instead of ending the task
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    try:
        file.write_at_all(8192 + RANK * 100_000, bytes(100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)


attempt(write, file)
