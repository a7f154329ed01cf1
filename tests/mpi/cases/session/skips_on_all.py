import pytest


def test_skips():
    pytest.skip("nowhere")


@pytest.mark.mpi_skip
def test_marked_by_pytest_mpi():
    raise AssertionError
