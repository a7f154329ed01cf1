"""A collective call fails on the last task in the middle of the loop; all tasks make all calls."""

import resource

import numpy as np
from stage import FILE, KINDS, LAST, RANK, SIZE, class_of, make_loop, open_file, tell

from pytest_pario.access.locks import release_record_locks

CALLS, PIECE = 20, 1000
reached, failures, classes, moved = [], [], [], []
for kind in KINDS:
    file = open_file()
    file.Set_size(0)
    loop = make_loop(
        kind,
        file,
        "write_at_all",
        np.ones(PIECE, np.uint8),
        [0] * CALLS,
        [PIECE] * CALLS,
        (np.arange(CALLS) * SIZE + RANK) * PIECE,
        on_error=lambda call, code: release_record_locks(str(FILE)),
    )
    if LAST:
        resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE * PIECE * 10, resource.RLIM_INFINITY))
    reached.append(loop.run())
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    failures.append([call for call, _ in loop.errors])
    classes.append(sorted({class_of(code) for _, code in loop.errors}))
    moved.append(int(loop.moved_bytes.sum()))
    # once more, without the limit: what failed is made good
    loop.run()
    assert not loop.errors and loop.moved_bytes.tolist() == [PIECE] * CALLS
    file.Close()
tell(reached=reached, failures=failures, classes=classes, moved=moved)
