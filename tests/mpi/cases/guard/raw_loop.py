"""GPFS-54: checks once before the clock, raw calls under it, outcomes once after; the last task fails in the middle."""

import resource

from stage import LAST, RANK, SIZE, attempt, open_file

file = open_file()
facts = {}


def write():
    calls = file.check_before("write_at_all", [((k * SIZE + RANK) * 1000, bytes(1000)) for k in range(20)])
    if LAST:
        resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE * 10_000, resource.RLIM_INFINITY))
    calls.run()
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    facts["failures"] = calls.outcome.failures
    file.agree_after(calls)


attempt(write, file, facts=facts)
