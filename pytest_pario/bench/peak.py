"""How many operations a core does at best: fused multiply-adds on vectors that depend on nothing but themselves."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pytest_pario.access.loops.compiling import compiled
from pytest_pario.workloads.btio.jobs import VECTOR_BYTES, WIDTH
from pytest_pario.workloads.btio.lanes import Writer, numba, operation
from pytest_pario.workloads.btio.storage import aligned

CHAINS, ROUNDS = 16, 64
"""Vectors at work at a time, more than a unit's latency needs, and operations on each between two looks at memory."""
CALLS, TRIES = 20_000, 5


@operation
def multiply_and_add(w: Writer, memory: Any) -> None:
    """X := x a + b, many times."""
    places = [w.at(memory, VECTOR_BYTES * number) for number in range(CHAINS + 2)]
    values = [w.load(place) for place in places]
    factor, term = values[CHAINS:]
    for _ in range(ROUNDS):
        values[:CHAINS] = [value * factor + term for value in values[:CHAINS]]
    for value, place in zip(values[:CHAINS], places, strict=False):
        w.store(value, place)


def burn(memory: int, times: int) -> None:
    """Do it again and again."""
    for _ in range(times):
        multiply_and_add((memory,))


SIGNATURES = {"burn": numba.types.void(numba.types.int64, numba.types.int64)}


def measure_peak() -> float:
    """Operations per second of one core; a multiply-add counts as two."""
    memory = aligned((CHAINS + 2) * WIDTH, 0.5)
    run = compiled("burn", __name__)
    best = float("inf")
    for _ in range(TRIES):
        begun = time.process_time()
        run(memory.ctypes.data, CALLS)
        best = min(best, time.process_time() - begun)
    return 2 * WIDTH * CHAINS * ROUNDS * CALLS / best if np.isfinite(memory).all() else 0.0
