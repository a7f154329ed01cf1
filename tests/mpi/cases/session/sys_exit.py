import sys


def test_sys_exit_is_a_failure(comm):
    if comm.rank == comm.size - 1:
        sys.exit(3)


def test_next(comm):
    comm.Barrier()
