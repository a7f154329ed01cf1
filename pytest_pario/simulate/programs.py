"""Programs on modelled storage: the same requests by each scheme (SIM-07, RES-04, RES-05)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_pario.errors import ParameterError
from pytest_pario.model import Extents
from pytest_pario.patterns.protocol import Layout
from pytest_pario.schemes.agents import choose_agents, plan_agents, share_table
from pytest_pario.schemes.ranges import call_of, union_of
from pytest_pario.schemes.shipping import plan_shipping
from pytest_pario.schemes.timed import is_ordered, timed_sets, turn_of
from pytest_pario.simulate.engine import Process, Step
from pytest_pario.simulate.partitioned import PartitionedFile
from pytest_pario.simulate.storage import Storage

Ranges = list[tuple[int, int]]


@dataclass(frozen=True)
class Program:
    """What a set of processes does: calls of a layout, over and over until so many bytes are moved."""

    layout: Layout
    """One repetition; its calls are made in order, all processes the same number."""
    processes: int
    total_bytes: int
    """Bytes of all processes together."""
    writes: bool = False
    compute_s: float = 0.0
    """Time that every process computes between calls."""
    base: int = 0
    """Local offset on each disk at which the file lies."""
    stripe: int = 0
    """Of data shipping; 0 takes the default."""
    agents: int = 0
    """Agents of data shipping; 0 takes all processes."""

    def __post_init__(self) -> None:
        if self.processes < 1 or self.total_bytes < 1 or self.compute_s < 0 or self.base < 0:
            values = (self.processes, self.total_bytes, self.compute_s, self.base)
            raise ParameterError(
                "program", values, "a process and a byte or more, no negative time or place", "simulation"
            )

    @functools.cached_property
    def repetitions(self) -> int:
        """How often the layout is repeated."""
        each = sum(self._table(rank).total_bytes for rank in range(self.processes))
        if not each:
            raise ParameterError("layout", self.layout.name, "one that moves bytes", "simulation")
        return max(1, self.total_bytes // each)

    def calls_of(self, rank: int) -> Iterator[Extents]:
        """What one process asks for, call after call."""
        table, step = self._table(rank), self.layout.period(self.processes)
        for repetition in range(self.repetitions):
            moved = table.shifted(repetition * step)
            for number in range(moved.call_count):
                yield call_of(moved, number)

    def calls(self) -> Iterator[list[Extents]]:
        """What all processes ask for, call after call."""
        yield from map(list, zip(*(self.calls_of(rank) for rank in range(self.processes)), strict=True))

    def _table(self, rank: int) -> Extents:
        return self.layout.at(self.processes).calls(rank, self.processes)


@dataclass(frozen=True)
class Part:
    """What one process does in one collective call."""

    rounds: tuple[Ranges, ...] = ((),)  # type: ignore[assignment]  # no range at all
    """Ranges that it asks for, one list after the other."""
    exchange_bytes: float = 0.0
    """Bytes over its link when all have what they asked for."""
    exchange_s: float = 0.0
    """Fixed cost of that exchange."""
    wait_s: float = 0.0
    """What it waits before it may send."""


Plan = Callable[["Program", Storage, list[Extents]], list[Part]]


def independent(program: Program, storage: Storage, rank: int) -> Process:
    """Every extent is a call of its own, nobody waits for anybody (non-collective-N)."""
    for request in program.calls_of(rank):
        for offset, length in _ranges(request):
            yield "move", storage.cut(offset, length, program.base), program.writes
        if program.compute_s:
            yield "wait", program.compute_s


def collective(program: Program, storage: Storage, key: object, parts: Iterator[list[Part]], rank: int) -> Process:
    """Meet, move what the plan says, meet, exchange."""
    n = program.processes
    for number, plan in enumerate(parts):
        part = plan[rank]
        yield "meet", (key, number, "begin"), n
        yield "wait", storage.synchronisation_s(n) + part.wait_s
        for ranges in part.rounds:
            yield "move", storage.cut_many(ranges, program.base), program.writes
        yield "meet", (key, number, "end"), n
        if part.exchange_bytes or part.exchange_s:
            yield "wait", part.exchange_bytes / storage.link_rate + part.exchange_s
        if program.compute_s:
            yield "wait", program.compute_s


def plan_two_phase(program: Program, storage: Storage, requests: list[Extents]) -> list[Part]:
    """Contiguous file domains; where the ranges of processes do not overlap each one moves its own (RES-32)."""
    n = program.processes
    if _in_order(requests):
        return [Part((_ranges(request),)) for request in requests]
    offsets, lengths = union_of(requests)
    begin, end = int(offsets[0]), int(offsets[-1] + lengths[-1])
    domain = -(-(end - begin) // n)
    parts = []
    for rank in range(n):
        low, high = begin + rank * domain, min(begin + (rank + 1) * domain, end)
        mine = _clip(offsets, lengths, low, high)
        # 4*s*(N-1)/N bytes of each process come from the domains of others
        parts.append(Part((mine,), requests[rank].total_bytes * (n - 1) / n))
    return parts


def plan_resonant(program: Program, storage: Storage, requests: list[Extents]) -> list[Part]:
    """Agents where ranges overlap, timed groups where they do not (RES-13, RES-14, RES-20)."""
    if _in_order(requests):
        sets = timed_sets(share_table(requests, storage.unit, storage.nodes))
        turns = [turn_of(rank, sets) for rank in range(program.processes)]
        return [
            Part((_ranges(request),), wait_s=turn.position * storage.delay_s)
            for request, turn in zip(requests, turns, strict=True)
        ]
    plan = plan_agents(requests, storage.unit, storage.nodes)
    parts = []
    for rank in range(program.processes):
        own = [plan.segments[node] for node, agent in enumerate(plan.agents) if agent == rank]
        ranges = [pair for offsets, lengths in own for pair in zip(offsets.tolist(), lengths.tolist(), strict=True)]
        second = plan.second_bytes[rank]
        parts.append(Part((ranges,), second, storage.overhead_s if second else 0.0))
    return parts


def plan_data_shipping(program: Program, storage: Storage, requests: list[Extents]) -> list[Part]:
    """Blocks bound to agents in turn; an agent holds one stripe at a time."""
    n = program.processes
    stripe = program.stripe or storage.unit * storage.nodes
    plan = plan_shipping(requests, stripe, program.agents or n)
    agents = plan.shipped_bytes.shape[1]
    parts = []
    for rank in range(n):
        rounds = (
            tuple(list(zip(o.tolist(), s.tolist(), strict=True)) for o, s in plan.rounds(rank)) if rank < agents else ()
        )
        own = int(plan.shipped_bytes[rank, rank]) if rank < agents else 0
        foreign = int(plan.shipped_bytes[:, rank].sum()) - own if rank < agents else 0
        # a link carries what comes and what goes, whichever is more
        parts.append(Part(rounds or ([],), max(foreign, requests[rank].total_bytes - own)))
    return parts


PLANS: Mapping[str, Plan] = {
    "collective": plan_two_phase,
    "resonant": plan_resonant,
    "data_shipping": plan_data_shipping,
}
SCHEMES = ("independent", *PLANS, "partitioned")


def start(program: Program, scheme: str, storage: Storage, key: object = 0) -> list[Process]:
    """The processes of a program under a scheme; the plan of each call is made once for all of them."""
    ranks = range(program.processes)
    if scheme == "independent":
        return [independent(program, storage, rank) for rank in ranks]
    if scheme == "partitioned":
        return PartitionedFile(program, storage, key=key).processes()
    if scheme not in PLANS:
        raise ParameterError("scheme", scheme, f"one of {', '.join(SCHEMES)}", "simulation")
    shared = _Shared(PLANS[scheme](program, storage, requests) for requests in program.calls())
    return [collective(program, storage, key, shared.follow(), rank) for rank in ranks]


class _Shared:
    """One sequence that several follow, each at its own pace; processes that meet in every call are never far apart."""

    def __init__(self, source: Iterator[list[Part]]) -> None:
        self._source, self._made, self._first = source, list[list[Part]](), 0

    def follow(self) -> Iterator[list[Part]]:
        number = 0
        while True:
            while number - self._first >= len(self._made):
                following = next(self._source, None)
                if following is None:
                    return
                self._made.append(following)
                if len(self._made) > KEPT:
                    del self._made[0]
                    self._first += 1
            yield self._made[number - self._first]
            number += 1


KEPT = 4
"""Plans that are kept; the slowest process is at most one call behind the fastest."""


def _in_order(requests: Sequence[Extents]) -> bool:
    firsts = [int(request.offsets.min()) if request.offsets.size else 0 for request in requests]
    return is_ordered(firsts, [request.end for request in requests])


def _ranges(request: Extents) -> Ranges:
    return list(zip(request.offsets.tolist(), request.lengths.tolist(), strict=True))


def _clip(offsets: np.ndarray, lengths: np.ndarray, low: int, high: int) -> Ranges:
    begins, ends = np.maximum(offsets, low), np.minimum(offsets + lengths, high)
    kept = ends > begins
    return list(zip(begins[kept].tolist(), (ends - begins)[kept].tolist(), strict=True))


def agents_of(program: Program, storage: Storage) -> tuple[int | None, ...]:
    """The agents of a program's first call."""
    return choose_agents(share_table(next(program.calls()), storage.unit, storage.nodes))


__all__ = ["PLANS", "SCHEMES", "Part", "Program", "Step", "agents_of", "start"]
