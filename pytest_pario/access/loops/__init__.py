"""Many data calls of one kind in a row, with nothing in between: what runs under the clock."""

from pytest_pario.access.loops.choice import LOOPS, choose_loop, find_loop
from pytest_pario.access.loops.protocol import Engine, Member, Target
from pytest_pario.access.loops.runner import Loop
from pytest_pario.access.loops.series import Series, gapped_series, mpi_series, posix_series

__all__ = [
    "LOOPS",
    "Engine",
    "Loop",
    "Member",
    "Series",
    "Target",
    "choose_loop",
    "find_loop",
    "gapped_series",
    "mpi_series",
    "posix_series",
]
