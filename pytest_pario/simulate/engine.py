"""The events of the model: requests travel, queue at nodes, are read piece by piece, and travel back (SIM-01..06).

A process is a generator that yields what it does next and is resumed when that is done:

    ("move", sub-requests, writes)           ask the nodes, and wait for all answers
    ("move", sub-requests, writes, server)   the same by the links and with the lock tokens of another process
    ("prefetch", sub-requests)               have nodes read them into memory, and go on
    ("wait", seconds)                        compute, or hold a link
    ("meet", key, count)                     wait until `count` processes have come
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from pytest_pario.errors import SimulationError
from pytest_pario.simulate.storage import Storage

Step = tuple[Any, ...]
Process = Iterator[Step]

RESUME, ARRIVE, READ = range(3)

CLIENT, LOCAL, LEFT, TICKET, WRITES = range(5)
"""Fields of a request at a node; a list, for a class would cost half of the simulation's time."""


@dataclass
class Node:
    """One I/O node: a queue, a disk and a link."""

    queue: deque[list[Any]] = field(default_factory=deque)
    busy: bool = False
    head: int = 0
    """Where the disk's head is: one past the last byte read."""
    idle_since: float = 0.0
    link_free: float = 0.0
    discontinuities: int = 0
    moved_bytes: int = 0
    revocations: int = 0
    """Lock tokens that were taken away from another client."""
    holders: dict[int, int] = field(default_factory=dict)
    """Client that holds the token of each locked block."""
    ahead: dict[tuple[int, int], list[list[Any]] | None] = field(default_factory=dict)
    """Ranges that were asked for ahead: requests that wait for one, or None when it is in memory."""


class Engine:
    """Runs processes against storage; the same seed gives the same events."""

    def __init__(self, storage: Storage, seed: int = 1) -> None:
        """Everything is idle at time 0."""
        self.storage, self._random = storage, random.Random(seed)  # noqa: S311 - a model, no secret
        self.nodes = [Node() for _ in range(storage.nodes)]
        self.now = 0.0
        self.finished_s: dict[int, float] = {}
        """When each process ended."""
        self._events: list[tuple[float, int, int, Any, Any]] = []
        self._count = 0
        self._links: list[float] = []
        self._processes: list[Process] = []
        self._waiting: dict[Any, list[int]] = {}

    def add(self, process: Process) -> int:
        """A process begins at time 0; returns its number."""
        number = len(self._processes)
        self._processes.append(process)
        self._links.append(0.0)
        self._push(0.0, RESUME, number, None)
        return number

    def run(self, until: set[int] | None = None, limit_s: float = float("inf")) -> float:
        """Go on until these processes, or all, have ended, or the time is up; returns the time."""
        wanted = set(range(len(self._processes))) if until is None else set(until)
        wanted -= self.finished_s.keys()
        events, handlers = self._events, (self._resume, self._arrive, self._piece_read)
        while wanted and events:
            if events[0][0] > limit_s:
                return limit_s
            self.now, _, kind, subject, detail = heappop(events)
            handlers[kind](subject, detail)
            if kind == RESUME and subject in self.finished_s:
                wanted.discard(subject)
        if wanted:
            raise SimulationError(f"processes {sorted(wanted)[:8]} wait for a meeting that never takes place")
        return self.now

    def _push(self, time: float, kind: int, subject: Any, detail: Any) -> None:
        # equal times in the order in which they were made, so that nothing depends on addresses
        self._count += 1
        heappush(self._events, (time, self._count, kind, subject, detail))

    def _resume(self, number: int, _detail: Any) -> None:
        try:
            step = next(self._processes[number])
        except StopIteration:
            self.finished_s[number] = self.now
            return
        if step[0] == "move":
            self._ask(number, step[1], step[2], *step[3:])
        elif step[0] == "prefetch":
            self._ask_ahead(step[1])
            self._push(self.now, RESUME, number, None)
        elif step[0] == "wait":
            self._push(self.now + step[1], RESUME, number, None)
        else:
            present = self._waiting.setdefault(step[1], [])
            present.append(number)
            if len(present) == step[2]:
                for one in self._waiting.pop(step[1]):
                    self._push(self.now, RESUME, one, None)

    def _ask(self, client: int, requests: list[tuple[int, int, int]], writes: bool, server: int | None = None) -> None:
        if not requests:
            self._push(self.now, RESUME, client, None)
            return
        ticket, server = [len(requests), 0.0, client], client if server is None else server
        for node, local, size in requests:
            self._push(self.now + self._travel_s(), ARRIVE, node, [server, local, size, ticket, writes])

    def _ask_ahead(self, requests: list[tuple[int, int, int]]) -> None:
        for node, local, size in requests:
            if (local, size) not in self.nodes[node].ahead:
                self.nodes[node].ahead[local, size] = []
                self._push(self.now + self._travel_s(), ARRIVE, node, [None, local, size, (local, size), AHEAD])

    def _travel_s(self) -> float:
        """Half of the overhead and an exponential delay before a node has a request."""
        jitter = self.storage.jitter_s
        return self.storage.overhead_s / 2 + (self._random.expovariate(1 / jitter) if jitter else 0.0)

    def _arrive(self, number: int, request: list[Any]) -> None:
        if request[WRITES] is True:
            # the data of a write come before the disk can have them
            end = self._ship(number, request[CLIENT], request[LEFT])
            request[WRITES] = SHIPPED
            self._push(end, ARRIVE, number, request)
            return
        node = self.nodes[number]
        place = (request[LOCAL], request[LEFT])
        if node.ahead and not request[WRITES] and place in node.ahead:
            waiting = node.ahead[place]
            if waiting is None:
                del node.ahead[place]
                self._deliver(number, request)
            else:
                waiting.append(request)
            return
        node.queue.append(request)
        if not node.busy:
            self._serve(number, node)

    def _serve(self, number: int, node: Node) -> None:
        """Read or write the next piece; the request then goes to the end of the queue (SIM-04)."""
        storage, request = self.storage, node.queue.popleft()
        size, at = min(storage.fragment, request[LEFT]), request[LOCAL]
        if at == node.head:
            # read-ahead has as much as the disk could read while it was idle (SIM-05)
            idle_s = self.now - node.idle_since
            ahead = 0.0 if request[WRITES] == SHIPPED else min(storage.read_ahead, idle_s * storage.disk_rate)
            service_s = max(0.0, size - ahead) / storage.disk_rate
        else:
            service_s = storage.seek_s + size / storage.disk_rate
            node.discontinuities += 1
        if request[WRITES] == SHIPPED and storage.lock_unit:
            service_s += self._take_tokens(node, request[CLIENT], at, size)
        node.head, node.busy = at + size, True
        request[LOCAL], request[LEFT] = at + size, request[LEFT] - size
        node.moved_bytes += size
        self._push(self.now + service_s, READ, number, (request, size))

    def _take_tokens(self, node: Node, client: int, at: int, size: int) -> float:
        """Seconds until the client holds every token of the range; the last holder of each has to give it back."""
        unit, revoked = self.storage.lock_unit, 0
        for block in range(at // unit, (at + size - 1) // unit + 1):
            revoked += node.holders.get(block, client) != client
            node.holders[block] = client
        node.revocations += revoked
        return revoked * self.storage.token_s

    def _piece_read(self, number: int, detail: Any) -> None:
        request, size = detail
        node, kind = self.nodes[number], request[WRITES]
        node.busy, node.idle_since = False, self.now
        if kind != AHEAD:
            self._answer(request, self.now if kind else self._ship(number, request[CLIENT], size))
        elif not request[LEFT]:
            self._keep_ahead(number, node, request[TICKET])
        if request[LEFT]:
            node.queue.append(request)
        if node.queue:
            self._serve(number, node)

    def _answer(self, request: list[Any], end: float) -> None:
        """A piece is over at `end`; the last one of a step lets its process go on."""
        ticket = request[TICKET]
        ticket[1] = max(ticket[1], end)
        if not request[LEFT]:
            ticket[0] -= 1
            if not ticket[0]:
                self._push(ticket[1] + self.storage.overhead_s / 2, RESUME, ticket[2], None)

    def _keep_ahead(self, number: int, node: Node, place: tuple[int, int]) -> None:
        """A range is in memory: for those who wait for it, or for who comes."""
        waiting = node.ahead.pop(place)
        for one in waiting or ():
            self._deliver(number, one)
        if not waiting:
            node.ahead[place] = None

    def _deliver(self, number: int, request: list[Any]) -> None:
        """Send what is in memory."""
        end = self._ship(number, request[CLIENT], request[LEFT])
        request[LEFT] = 0
        self._answer(request, end)

    def _ship(self, number: int, client: int, size: int) -> float:
        """Both links are busy from the time that both are free (SIM-06); returns when the piece is over."""
        node = self.nodes[number]
        end = max(self.now, node.link_free, self._links[client]) + size / self.storage.link_rate
        node.link_free = self._links[client] = end
        return end


SHIPPED, AHEAD = 2, 3
"""A write whose data the node has; a read that nobody waits for yet."""
