"""MPICH: a strided write that fails keeps its lock on the file; the next writer must not wait for ever."""

import resource

from stage import COMM, LAST, MPI, RANK, SIZE, attempt, open_file

file = open_file()
file.set_view(RANK * 100, MPI.BYTE, MPI.BYTE.Create_contiguous(100).Create_resized(0, SIZE * 100))


def write():
    with file.phase("strided"):
        try:
            if LAST:
                resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
                file.write(bytes(100_000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            COMM.Barrier()
            if not LAST:
                file.write(bytes(100_000))


attempt(write, file)
