"""Waiting for messages without taking the core from those who compute.

MPI libraries wait by asking again and again. Where there are more ranks than cores that takes the time of the rank that
is waited for; so a rank asks for a short while, then sleeps between questions.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_pario import mpi

if TYPE_CHECKING:
    from mpi4py import MPI

ASK_NS = 20_000
"""How long is asked without sleeping."""
FIRST_NAP_S, LONGEST_NAP_S = 50e-6, 400e-6


def wait_all(requests: Sequence[MPI.Request]) -> None:
    """Return when all are complete."""
    done = mpi.load().Request.Testall
    begun = time.perf_counter_ns()
    while time.perf_counter_ns() - begun < ASK_NS:
        if done(requests):
            return
    # each nap costs some 15 us of CPU time; long ones would cost more time than that, for lines wait for each other
    nap_s = FIRST_NAP_S
    while not done(requests):
        time.sleep(nap_s)
        nap_s = min(2 * nap_s, LONGEST_NAP_S)
