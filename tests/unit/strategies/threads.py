"""Ranks as threads: as much of a communicator as strategies use, and a file in memory."""
# ruff: noqa: N802 - the names are those of mpi4py

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pytest_pario.patterns.pieces import Bytes
from pytest_pario.strategies.runs import Runs
from pytest_pario.strategies.store import Done

LIMIT_S = 60
"""A rank that waits longer is stuck."""


class Request:
    """A message that is sent, or to be received."""

    def __init__(self, finish: Callable[[], object]) -> None:
        self._finish = finish

    @staticmethod
    def Waitall(requests: Sequence[Request]) -> None:
        for request in requests:
            request._finish()


class World:
    """What all ranks of a job share."""

    def __init__(self, size: int) -> None:
        self.size, self.barrier = size, threading.Barrier(size)
        self.slots: list[Any] = [None] * size
        self.mail: dict[tuple[int, int, int], queue.Queue[Any]] = {}
        self.lock = threading.Lock()

    def box(self, source: int, target: int, tag: int) -> queue.Queue[Any]:
        with self.lock:
            return self.mail.setdefault((source, target, tag), queue.Queue())


class Comm:
    """One rank's communicator."""

    def __init__(self, world: World, rank: int) -> None:
        self._world, self.rank, self.size = world, rank, world.size

    def Barrier(self) -> None:
        self._world.barrier.wait(LIMIT_S)

    def _all(self, mine: Any) -> list[Any]:
        self._world.slots[self.rank] = mine
        self.Barrier()
        found = list(self._world.slots)
        self.Barrier()
        return found

    def Allgather(self, sent: Any, received: Any) -> None:
        received.reshape(self.size, -1)[:] = np.stack([part.ravel() for part in self._all(sent.copy())])

    def Allgatherv(self, sent: Any, received: Any) -> None:
        received[0][:] = np.concatenate(self._all(sent.copy()))

    def Alltoall(self, sent: Any, received: Any) -> None:
        rows = self._all(sent.copy().reshape(self.size, -1))
        received.reshape(self.size, -1)[:] = np.stack([row[self.rank] for row in rows])

    def Alltoallv(self, sent: Any, received: Any) -> None:
        data, counts = sent
        parts = self._all(np.split(data.copy(), np.cumsum(counts)[:-1]))
        received[0][:] = np.concatenate([part[self.rank] for part in parts])

    def Isend(self, data: Any, target: int, tag: int) -> Request:
        self._world.box(self.rank, target, tag).put(data.copy())
        return Request(lambda: None)

    def Irecv(self, data: Any, source: int, tag: int) -> Request:
        box = self._world.box(source, self.rank, tag)

        def finish() -> None:
            data[...] = box.get(timeout=LIMIT_S)

        return Request(finish)

    def Send(self, data: Any, target: int, tag: int) -> None:
        self.Isend(data, target, tag)

    Ssend = Send

    def Recv(self, data: Any, source: int, tag: int) -> None:
        Request.Waitall([self.Irecv(data, source, tag)])


class MemoryFile:
    """A file that all ranks have in memory; one whose disk is `broken` fails, and it may take `lists`."""

    def __init__(self, image: Bytes, broken: bool = False, lists: bool = False) -> None:
        self._image, self._broken, self._lists = image, broken, lists
        self.asked: list[int] = []
        """Runs of each list."""

    def write_at(self, offset: int, data: Bytes) -> int:
        self._fail()
        self._image[offset : offset + data.size] = data
        return data.size

    def read_at(self, offset: int, out: Bytes) -> int:
        self._fail()
        found = self._image[offset : offset + out.size]
        out[: found.size] = found
        return int(found.size)

    def start_write(self, offset: int, data: Bytes) -> Done:
        return Done(self.write_at(offset, data))

    def start_read(self, offset: int, out: Bytes) -> Done:
        return Done(self.read_at(offset, out))

    def start_list(self, runs: Runs, data: Bytes, *, writes: bool) -> Done | None:
        if not self._lists:
            return None
        self.asked.append(runs.begins.size)
        move, moved = self.write_at if writes else self.read_at, 0
        for begin, size, place in zip(runs.begins.tolist(), runs.sizes.tolist(), runs.places.tolist(), strict=True):
            moved += move(begin, data[place : place + size])
        return Done(moved)

    def settle(self) -> None:
        """Nothing is kept."""

    def _fail(self) -> None:
        if self._broken:
            raise OSError(5, "Input/output error")


def run_threads(size: int, action: Callable[[Comm], object]) -> None:
    """Run an action as every rank; the first error of any is raised."""
    world, errors = World(size), list[BaseException]()

    def one(rank: int) -> None:
        try:
            action(Comm(world, rank))
        except BaseException as error:
            errors.append(error)
            world.barrier.abort()

    ranks = [threading.Thread(target=one, args=(rank,), daemon=True) for rank in range(size)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(LIMIT_S)
    if errors:
        raise errors[0]
    assert not any(rank.is_alive() for rank in ranks)
