import ctypes

import pytest


@pytest.mark.pario_timeout(1)
def test_stuck_in_c(comm):
    if comm.rank == comm.size - 1:
        ctypes.PyDLL(None).sleep(60)  # keeps the interpreter lock
