"""One rank of `pario bench strategies`: the same bytes by every strategy, in turn, on one open file."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_pario import mpi
from pytest_pario.access.datatypes import datatype
from pytest_pario.access.info import as_info
from pytest_pario.errors import SessionError
from pytest_pario.model import Extents, Pattern
from pytest_pario.patterns import Strided
from pytest_pario.patterns.payload import allocate
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.planning import plan, views
from pytest_pario.schemes.ranges import call_of
from pytest_pario.schemes.settings import parse_strategy
from pytest_pario.strategies.catalogue import make_strategy
from pytest_pario.strategies.files import MpiFile
from pytest_pario.strategies.protocol import Movement, Site
from pytest_pario.units import KiB, MiB
from pytest_pario.workloads.resonance.emulated import measure_seeks

if TYPE_CHECKING:
    from mpi4py import MPI

RESONANT = "resonant:unit=65536,nodes=4"
OURS = {
    "two_phase": "two_phase",
    "two_phase agents=1": "two_phase:agents=1",
    "data_shipping": "data_shipping",
    "resonant": RESONANT,
}
"""Our strategies by the names of their rows; with as many agents as ranks unless the name says otherwise."""
WARM = 2
"""Passes of each side before any is counted."""


@dataclass(frozen=True)
class Case:
    """One pattern: all ranks together move 16 MiB."""

    name: str
    pattern: Pattern


def cases(ranks: int) -> list[Case]:
    """Columns of 16 KiB that all ranks interleave, in one call; segments of 1 MiB, a call for each round of them."""
    total = 16 * MiB
    columns = Strided(16 * KiB, per_call=max(1, total // (16 * KiB * ranks)))
    segments = Strided(1 * MiB, ncalls=max(1, total // (MiB * ranks)))
    return [
        Case("noncontig, 16 KiB columns", Pattern("columns", columns, True)),
        Case("segments of 1 MiB", Pattern("segments", segments, True)),
    ]


class Sides:
    """Every side of one case on one open file."""

    def __init__(self, comm: MPI.Intracomm, case: Case, directory: str) -> None:
        """Open the file for each side of the library with the view of the pattern, and once for ours with none."""
        codes = mpi.load()
        self._comm, self._codes = comm, codes
        work = plan(case.pattern, comm.size)
        self._table: Extents = work.ranks[comm.rank]
        self.memory = allocate(self._table.total_bytes)
        path, amode = str(Path(directory) / case.pattern.name), codes.MODE_CREATE | codes.MODE_RDWR
        self._bytes = codes.File.Open(comm, path, amode)
        self._site = Site(comm, MpiFile(self._bytes, path))
        self._library = {
            "native": (codes.File.Open(comm, path, amode), "_all"),
            "independent": (codes.File.Open(comm, path, amode), ""),
        }
        # as many aggregators as we have agents, where the library takes the hint
        with as_info({"cb_config_list": "*:*", "cb_nodes": str(comm.size)}) as info:
            widened = codes.File.Open(comm, path, amode, info)
        self._library[f"native cb_nodes={_aggregators(widened)}"] = (widened, "_all")
        (view,) = views(work, comm.rank)
        with datatype(view.filetype) as filetype:
            for file, _ in self._library.values():
                file.Set_view(view.displacement, codes.BYTE, filetype)
        self.names = (*self._library, *OURS)

    def close(self) -> None:
        """Close all."""
        self._site.file.settle()
        self._bytes.Close()
        for file, _ in self._library.values():
            file.Close()

    def action(self, side: str, writes: bool) -> Callable[[], None]:
        """One pass of a side over all calls."""
        sizes, ends = self._table.call_bytes.tolist(), np.cumsum(self._table.call_bytes).tolist()
        parts = [self.memory[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        if side in self._library:
            file, together = self._library[side]
            method = getattr(file, ("Write" if writes else "Read") + together)

            def by_library() -> None:
                file.Seek(0)
                for part in parts:
                    method([part, part.size, self._codes.BYTE])

            return by_library
        strategy = make_strategy(parse_strategy(OURS[side]))
        assert strategy is not None
        moves = [_movement(call_of(self._table, number), part, writes) for number, part in enumerate(parts)]

        def by_strategy() -> None:
            for move in moves:
                strategy.carry_out(self._site, move)
            if self._site.errors:
                raise self._site.errors[0]

        return by_strategy


def _aggregators(file: MPI.File) -> str:
    """What the library says of how many it has."""
    info = file.Get_info()
    try:
        return info.Get("cb_nodes") or "ignored"
    finally:
        info.Free()


def _movement(call: Extents, memory: Bytes, writes: bool) -> Movement:
    return Movement(call.offsets, np.cumsum(call.lengths) - call.lengths, call.lengths, memory, writes)


def measure(comm: MPI.Intracomm, case: Case, directory: str, repeat: int) -> dict[str, dict[str, list[float]]]:
    """Seconds of the slowest rank, by phase and side, the sides in turn; every read is checked."""
    sides = Sides(comm, case, directory)
    pattern = (np.arange(sides.memory.size) * (comm.rank + 3) % 251 + 1).astype(np.uint8)
    found: dict[str, dict[str, list[float]]] = {}
    try:
        for phase in ("write", "read"):
            actions = {side: sides.action(side, phase == "write") for side in sides.names}
            for number in range(WARM + repeat):
                turn = number % len(sides.names)
                for side in sides.names[turn:] + sides.names[:turn]:
                    sides.memory[:] = pattern if phase == "write" else 0
                    comm.Barrier()
                    begun = time.monotonic()
                    actions[side]()
                    spent = time.monotonic() - begun
                    if phase == "read" and not np.array_equal(sides.memory, pattern):
                        raise SessionError(f"{side} read wrong bytes in {case.name}")
                    slowest = comm.allreduce(spent, op=mpi.load().MAX)
                    if number >= WARM:
                        found.setdefault(phase, {}).setdefault(side, []).append(slowest)
    finally:
        sides.close()
    return found


def run_rank(comm: MPI.Intracomm, directories: list[str], repeat: int) -> dict[str, Any]:
    """All cases in all directories, and what the emulated store counts."""
    rows = [
        {"directory": directory, "case": case.name, "seconds": measure(comm, case, directory, repeat)}
        for directory in directories
        for case in cases(comm.size)
    ]
    demo = Pattern("demo", Strided(64 * KiB, per_call=4, ncalls=4), True)
    shipped = f"data_shipping:stripe={256 * KiB}"
    seeks = measure_seeks(
        comm, Path(directories[0]), demo, ["independent", "two_phase", shipped, RESONANT], unit=64 * KiB, nodes=4
    )
    told = [{"strategy": s.strategy, "phase": s.phase, "most": s.most, "mean": s.mean} for s in seeks]
    return {"library": mpi.library_version(), "rows": rows, "seeks": told}


def main() -> None:
    """Run as one rank of a job."""
    settings = json.loads(sys.argv[1])
    mpi.run_rank(lambda comm: run_rank(comm, settings["directories"], settings["repeat"]))


if __name__ == "__main__":
    main()
