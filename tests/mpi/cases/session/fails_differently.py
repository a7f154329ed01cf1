import pytest


def test_each_its_own(comm):
    if comm.rank == 0:
        raise KeyError("first kind")
    raise ValueError("second kind")


def test_same_everywhere(comm):
    pytest.fail("the same on all")
