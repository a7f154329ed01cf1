"""Strategies on the emulated store: how often each node's head has to move, per call, under real MPI (RES-28)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pytest_pario import mpi
from pytest_pario.errors import ParameterError, VerificationError
from pytest_pario.model import Extents, Pattern
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.planning import plan
from pytest_pario.schemes.ranges import call_of
from pytest_pario.schemes.settings import parse_strategy
from pytest_pario.strategies.catalogue import make_strategy
from pytest_pario.strategies.protocol import Movement, Site, Strategy
from pytest_pario.strategies.store import Shape, StripedStore, count_seeks

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Seeks:
    """What the nodes saw of one pattern under one strategy."""

    strategy: str
    phase: str
    per_call: tuple[tuple[int, ...], ...]
    """Discontinuities of each node in each call; shape (calls, nodes)."""
    arrivals: int
    """Requests of all nodes and calls."""

    @property
    def most(self) -> int:
        """Most discontinuities of one node in one call."""
        return max((seeks for call in self.per_call for seeks in call), default=0)

    @property
    def mean(self) -> float:
        """Discontinuities per node and call."""
        return float(np.mean(self.per_call)) if self.per_call else 0.0


class EachExtent:
    """Independent calls: every extent is a request of its own."""

    name: ClassVar[str] = "independent"

    def carry_out(self, site: Site, moved: Movement) -> None:
        """Nobody waits for anybody."""
        move = site.file.write_at if moved.writes else site.file.read_at
        for offset, place, length in zip(
            moved.offsets.tolist(), moved.places.tolist(), moved.lengths.tolist(), strict=True
        ):
            try:
                move(offset, moved.memory[place : place + length])
            except Exception as error:
                site.errors.append(error)


def measure_seeks(
    comm: MPI.Intracomm, directory: Path, pattern: Pattern, strategies: Sequence[str], *, unit: int, nodes: int
) -> list[Seeks]:
    """Write and read a pattern under each strategy; every byte is checked, every arrival counted."""
    tables = [plan(pattern, comm.size).ranks[rank] for rank in range(comm.size)]
    shape = Shape(directory, unit, nodes, max(table.end for table in tables))
    found = []
    for text in strategies:
        mpi.on_root(comm, shape.create)
        store = StripedStore(shape, comm.rank)
        try:
            for phase in ("write", "read"):
                found.append(_measure(comm, store, shape, tables, text=text, phase=phase))
        finally:
            store.close()
            comm.Barrier()
            mpi.on_root(comm, shape.remove)
    return found


def _measure(
    comm: MPI.Intracomm, store: StripedStore, shape: Shape, tables: Sequence[Extents], *, text: str, phase: str
) -> Seeks:
    settings = parse_strategy(text)
    strategy: Strategy | None = EachExtent() if settings.name == "independent" else make_strategy(settings)
    if strategy is None:
        raise ParameterError("strategy", text, "one that does not go through the library's own files")
    site, heads = Site(comm, store), [0] * shape.nodes
    wanted, per_call, arrivals = _content(shape.size), [], 0
    for number in range(tables[comm.rank].call_count):
        mpi.on_root(comm, shape.clear_logs)
        moved = _movement(call_of(tables[comm.rank], number), wanted, phase == "write")
        expected = moved.memory.copy()
        if phase == "read":
            moved.memory[:] = 0
        strategy.carry_out(site, moved)
        comm.Barrier()
        wrong = bool(site.errors) or not np.array_equal(moved.memory, expected)
        _raise_together(comm, text, phase, wrong, site)
        counted, heads, count = mpi.on_root(comm, lambda: _count(shape, heads, phase == "read"))  # noqa: B023
        per_call.append(counted)
        arrivals += count
    if phase == "write":
        _raise_together(comm, text, phase, comm.rank == 0 and not _is_right(shape, tables, wanted), site)
    return Seeks(text, phase, tuple(per_call), arrivals)


def _count(shape: Shape, heads: list[int], reads: bool) -> tuple[tuple[int, ...], list[int], int]:
    found, after, total = [], [], 0
    for node in range(shape.nodes):
        arrivals = shape.arrivals(node)
        seeks, head = count_seeks(arrivals, shape.data_of(node).stat().st_size, heads[node], reads)
        found.append(seeks)
        after.append(head)
        total += len(arrivals)
    return tuple(found), after, total


def _content(size: int) -> Bytes:
    # 251 is prime: no power of two repeats it
    return (np.arange(size, dtype=np.int64) % 251 + 1).astype(np.uint8)


def _movement(call: Extents, wanted: Bytes, writes: bool) -> Movement:
    places = np.cumsum(call.lengths) - call.lengths
    parts = [wanted[o : o + s] for o, s in zip(call.offsets.tolist(), call.lengths.tolist(), strict=True)]
    memory = np.concatenate([np.empty(0, dtype=np.uint8), *parts])
    return Movement(call.offsets, places, call.lengths, memory, writes)


def _is_right(shape: Shape, tables: Sequence[Extents], wanted: Bytes) -> bool:
    image, touched = shape.image(), np.zeros(shape.size, dtype=bool)
    for table in tables:
        for offset, length in zip(table.offsets.tolist(), table.lengths.tolist(), strict=True):
            touched[offset : offset + length] = True
    return bool((image == np.where(touched, wanted, 0)).all())


def _raise_together(comm: MPI.Intracomm, text: str, phase: str, wrong: bool, site: Site) -> None:
    if mpi.agree(comm, wrong):
        told = [str(error) for error in site.errors] or ["wrong bytes on a rank"]
        raise VerificationError(f"{text}/{phase} on the emulated store", told[0])
