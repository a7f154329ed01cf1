import time

import pytest


@pytest.mark.pario_timeout(1)
def test_one_rank_never_calls(comm):
    if comm.rank == comm.size - 1:
        while True:
            try:
                time.sleep(60)
            except Exception:
                pass
    comm.Barrier()
