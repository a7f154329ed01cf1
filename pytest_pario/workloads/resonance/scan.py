"""A sweep of segment size and processes over a filesystem, to see which stripe independent reads are in step with."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pytest_pario import mpi
from pytest_pario.environment.context import Context
from pytest_pario.environment.mount import type_of
from pytest_pario.model import Record
from pytest_pario.patterns.partitions import client_sweep
from pytest_pario.units import mib_per_s
from pytest_pario.workloads.resonance.programs import demonstration
from pytest_pario.workloads.runner import Runner, RunRules

if TYPE_CHECKING:
    from mpi4py import MPI

Scans = dict[int, dict[int, list[float]]]
"""By number of processes and segment, MiB/s of each round."""


def rates_of_rounds(record: Record) -> tuple[float, ...]:
    """MiB/s of every round of a record."""
    samples = record.samples
    return tuple(map(mib_per_s, samples.moved_bytes, samples.elapsed_s))


def scan(comm: MPI.Intracomm, directory: Path, segments: Sequence[int], each_bytes: int, rounds: int) -> Scans:
    """Independent reads of the demonstration program on 1, 2, 4, … and all processes, the segments in turn."""
    found: Scans = {}
    for clients in client_sweep(comm.size):
        part = cast("MPI.Intracomm", comm.Split(0 if comm.rank < clients else 1, comm.rank))
        if comm.rank < clients:
            found[clients] = _sweep(part, directory, segments, each_bytes, rounds)
        part.Free()
        comm.Barrier()
    return found


def _sweep(
    comm: MPI.Intracomm, directory: Path, segments: Sequence[int], each_bytes: int, rounds: int
) -> dict[int, list[float]]:
    """All segments once, and again: what changes on the machine in between is the same for all of them."""
    rates: dict[int, list[float]] = {size: [] for size in segments}
    rules = RunRules(rounds=1, warmup_rounds=0)
    kind = mpi.on_root(comm, lambda: type_of(Context(directory)) or "unknown")
    for _ in range(rounds):
        for size in segments:
            row = demonstration(size, max(1, each_bytes // (4 * size)), coll=False)
            rates[size] += rates_of_rounds(Runner(comm, directory, kind, rules).run(row, "read"))
    return rates


def main() -> None:
    """Run as one rank of a job."""
    told = json.loads(sys.argv[1])
    where = Path(told["directory"])
    mpi.run_rank(lambda comm: scan(comm, where, told["segments"], told["each_bytes"], told["rounds"]))


if __name__ == "__main__":
    main()
