"""Rounds of an operation on all ranks: one agreed number, the slowest rank's time, errors that reach everybody."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_pario import mpi
from pytest_pario.errors import ParameterError, RemoteTaskError

if TYPE_CHECKING:
    from mpi4py import MPI

MOST_ROUNDS = 10_000


@dataclass(frozen=True)
class RoundSamples:
    """What all ranks agree on after the rounds; equal on every rank."""

    seconds: tuple[float, ...]
    """Of the slowest rank, one per measured round."""
    moved_bytes: tuple[int, ...]
    """Of all ranks together, one per measured round."""
    warmup_seconds: tuple[float, ...]
    """Of the slowest rank, one per round that is not counted."""
    ranks: int


@dataclass(frozen=True)
class RoundPlan:
    """How often to repeat; root's plan counts."""

    rounds: int
    warmup_rounds: int = 1
    seconds: float | None = None
    """If set, root chooses the number of rounds that fill this time, from the last warm-up round."""

    def __post_init__(self) -> None:
        for name, value, least in (("rounds", self.rounds, 1), ("warmup_rounds", self.warmup_rounds, 0)):
            if not isinstance(value, int) or not least <= value <= MOST_ROUNDS:
                raise ParameterError(name, value, f"a whole number from {least} to {MOST_ROUNDS}", "test")
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise ParameterError("seconds", self.seconds, "a positive number", "test")
        if self.seconds is not None and self.warmup_rounds < 1:
            raise ParameterError("warmup_rounds", 0, "1 or more where seconds is given: it is timed to choose", "test")


def measure_rounds(
    comm: MPI.Comm,
    operation: Callable[[], int | None],
    plan: RoundPlan,
    prepare: Callable[[], object] | None = None,
    tidy: Callable[[], object] | None = None,
) -> RoundSamples:
    """Repeat `operation`, which returns the bytes that this rank moved.

    `prepare` runs before each round and `tidy` after it, both untimed.
    """
    plan = comm.bcast(plan, root=0)

    def one_round() -> tuple[float, int]:
        if prepare is not None:
            mpi.together(comm, "preparing a round", prepare)
        found = _one_round(comm, operation)
        if tidy is not None:
            mpi.together(comm, "tidying up after a round", tidy)
        return found

    warmups = [one_round() for _ in range(plan.warmup_rounds)]
    rounds = plan.rounds
    if plan.seconds is not None:
        # every rank has the same agreed time, so every rank computes the same number
        rounds = max(1, min(MOST_ROUNDS, math.ceil(plan.seconds / max(warmups[-1][0], 1e-9))))
    samples = [one_round() for _ in range(rounds)]
    return RoundSamples(
        seconds=tuple(seconds for seconds, _ in samples),
        moved_bytes=tuple(moved for _, moved in samples),
        warmup_seconds=tuple(seconds for seconds, _ in warmups),
        ranks=comm.size,
    )


def _one_round(comm: MPI.Comm, operation: Callable[[], int | None]) -> tuple[float, int]:
    """Slowest rank's seconds and all ranks' bytes of one round."""
    failure: Exception | None = None
    moved: int | None = 0
    comm.Barrier()
    start = time.perf_counter_ns()
    try:
        moved = operation()
    except Exception as error:
        failure = error
    elapsed_s = (time.perf_counter_ns() - start) / 1e9
    # after the clock has stopped: no rank leaves alone (GPFS-49)
    told = comm.allgather((elapsed_s, int(moved or 0), failure is not None))
    failed = [rank for rank, (_, _, bad) in enumerate(told) if bad]
    if failure is not None:
        raise failure
    if failed:
        raise RemoteTaskError("a measured round", failed)
    return max(seconds for seconds, _, _ in told), sum(count for _, count, _ in told)
