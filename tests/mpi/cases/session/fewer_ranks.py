import pytest


@pytest.mark.pario_ranks(1)
def test_on_one(comm):
    assert comm.size == 1


@pytest.mark.pario_ranks(2)
def test_on_two(comm, world_comm):
    assert comm.size == 2
    assert comm.rank == world_comm.rank  # GEN-11: ranks 0..m-1 of the world in rank order


@pytest.mark.pario_ranks(64)
def test_on_many(comm):
    raise AssertionError("must be skipped")


def test_on_all(comm):
    assert comm.allreduce(1) == comm.size
