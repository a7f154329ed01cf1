import pytest


def test_skips(comm):
    if comm.rank == comm.size - 1:
        pytest.skip("not on this rank")
