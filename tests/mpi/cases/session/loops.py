import pytest


@pytest.mark.pario_timeout(1)
def test_loops(comm):
    while comm.rank == comm.size - 1:
        pass


def test_next(comm):
    comm.Barrier()
