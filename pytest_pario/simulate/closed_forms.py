"""What the model must give where it can be worked out on paper (SIM-10, SIM-11)."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations

from pytest_pario.simulate.storage import Storage


def undisturbed_request_s(storage: Storage, blocks: int) -> float:
    """A request of whole units on as many nodes, when no node is visited by anybody else."""
    # o + jitter + b*u / B
    return storage.overhead_s + storage.jitter_s + blocks * storage.unit / storage.link_rate


def full_resonance_rate(storage: Storage, processes: int) -> float:
    """Bytes per second of processes that read a unit at a time from a node each."""
    # per request the slower of disk and link: max(u / D, o + jitter + u / B)
    each_s = max(storage.unit / storage.disk_rate, undisturbed_request_s(storage, 1))
    return processes * storage.unit / each_s


def partial_resonance_rate(storage: Storage, processes: int, blocks: int) -> float:
    """Bytes per second of processes that read so many units at a time, each from nodes of its own."""
    return processes * blocks * storage.unit / undisturbed_request_s(storage, blocks)


def random_discontinuities(n: int) -> Fraction:
    """Discontinuities per call at a node where n adjacent requests arrive in random order."""
    # (n-1) - (n-1)/n inside a call, and 1 - 1/n^2 between calls
    return (n - 1) - Fraction(n - 1, n) + 1 - Fraction(1, n * n)


def enumerated_discontinuities(n: int) -> Fraction:
    """The same by going through all orders of two successive calls."""
    orders = list(permutations(range(n)))
    inside = Fraction(sum(sum(b != a + 1 for a, b in pairwise(o)) for o in orders), len(orders))
    # the next call goes on where this one ended only if the last came last here and the first comes first there
    joins = Fraction(sum(o[-1] == n - 1 for o in orders) * sum(o[0] == 0 for o in orders), len(orders) ** 2)
    return inside + 1 - joins


def collective_call_s(storage: Storage, seeks: float) -> float:
    """A collective call of four processes and four units each, with so many seeks at the busiest node."""
    unit = storage.unit
    # c + o + 4u/D + seeks * p + u/B + 3u/B
    return (
        storage.sync_s
        + storage.overhead_s
        + 4 * unit / storage.disk_rate
        + seeks * storage.seek_s
        + unit / storage.link_rate
        + 3 * unit / storage.link_rate
    )
