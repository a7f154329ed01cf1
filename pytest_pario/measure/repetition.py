"""How often a timed pattern is repeated: decided at root, the same on all ranks (BEFF-22..28, MODEL-10)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from mpi4py import MPI

Termination = Literal["geometric", "per_call"]


@dataclass(frozen=True)
class Repeated:
    """What a time-driven loop came to; repetitions, decisions and elapsed time are equal on all ranks."""

    repetitions: int
    decisions: int
    elapsed_s: float
    """By root's clock."""
    barrier_s: float
    """Of it, in barriers: waiting for the slowest."""
    broadcast_s: float
    """Of it, in telling the decision."""
    last_call_s: float
    """Time of one repetition in the last batch, on this rank."""
    last_decision_s: float
    """Time of the last barrier and broadcast, on this rank."""

    @property
    def decision_s(self) -> float:
        """Time in barriers and broadcasts."""
        return self.barrier_s + self.broadcast_s


CLOSING = 1 / 16
"""Part of the limit that is given to one last batch; more room than that is halved, so that calls that become dearer (a
page cache fills, a disk falls behind) are noticed before the limit has passed."""


@dataclass(frozen=True)
class SoFar:
    """What root knows of a loop when it decides; at least one repetition has been made."""

    done: int
    elapsed_s: float
    batch: int
    """Repetitions of the latest batch."""
    latest_s: float
    """Time of the latest batch."""


def next_batch(rule: Termination, so_far: SoFar, limit_s: float) -> int:
    """How many repetitions to make before the next decision; 0 ends the loop.

    The next end is predicted from the mean, or from the latest batch where that was dearer: the limit is not overshot
    while the cost of a call stays the same, and by little while it grows.
    """
    done, elapsed_s, batch = so_far.done, so_far.elapsed_s, so_far.batch
    if rule == "per_call":
        # continue iff elapsed * (r + 1) / r <= T_p (BEFF-24)
        return 1 if elapsed_s * (done + 1) / done <= limit_s else 0
    # room = floor((T_p - t) / per); batch = min(2 * batch, room) (BEFF-26)
    per = max(elapsed_s / done, so_far.latest_s / batch)
    room = math.floor((limit_s - elapsed_s) / per) if per > 0 else 2 * batch
    if room > 1 and room * per > CLOSING * limit_s:
        room = math.ceil(room / 2)
    return min(2 * batch, room) if room >= 1 else 0


def repeat_timed(
    comm: MPI.Comm, run: Callable[[int, int], None], limit_s: float, rule: Termination, most: int = 1 << 40
) -> Repeated:
    """Run repetitions first..last-1 by `run(first, last)` until root says stop; all ranks stop after the same one."""
    batch, done, decisions, barrier_ns, broadcast_ns = 1, 0, 0, 0, 0
    begun = decided_ns = time.perf_counter_ns()
    while batch:
        before_ns = time.perf_counter_ns()
        run(done, done + batch)
        done, made = done + batch, batch
        ready_ns = time.perf_counter_ns()
        comm.Barrier()
        met_ns = time.perf_counter_ns()
        elapsed_s = (met_ns - begun) / 1e9
        latest_s, decided_ns = (met_ns - decided_ns) / 1e9, met_ns
        chosen = next_batch(rule, SoFar(done, elapsed_s, batch, latest_s), limit_s) if comm.rank == 0 else 0
        batch, elapsed_s = comm.bcast((min(chosen, most - done), elapsed_s), root=0)
        told_ns = time.perf_counter_ns()
        barrier_ns += met_ns - ready_ns
        broadcast_ns += told_ns - met_ns
        decisions += 1
    return Repeated(
        done,
        decisions,
        elapsed_s,
        barrier_ns / 1e9,
        broadcast_ns / 1e9,
        last_call_s=(ready_ns - before_ns) / made / 1e9,
        last_decision_s=(told_ns - ready_ns) / 1e9,
    )
