import os
import signal
import time

from pytest_pario.session.keys import SESSION


def test_loses_the_hub(comm, request):
    comm.Barrier()
    if comm.rank == 0:
        os.kill(request.config.stash[SESSION].hub.pid, signal.SIGKILL)
    time.sleep(60)


def test_next(comm):
    comm.Barrier()
