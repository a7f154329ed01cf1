from pytest_pario.errors import RemoteTaskError


def test_only_the_cause_is_shown(comm):
    if comm.rank == comm.size - 1:
        raise OSError("disk full on this rank")
    raise RemoteTaskError("write", [comm.size - 1])
