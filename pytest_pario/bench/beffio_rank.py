"""One rank of `pario bench beffio`."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_pario import mpi
from pytest_pario.units import MiB
from pytest_pario.workloads.beffio.execution import PartitionRun, Surroundings
from pytest_pario.workloads.beffio.machine import detect_machine
from pytest_pario.workloads.beffio.schedule import order
from pytest_pario.workloads.beffio.settings import Settings

if TYPE_CHECKING:
    from mpi4py import MPI


def run_both(world: MPI.Intracomm, given: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Run one partition of all ranks under each rule of termination."""
    comm = world.Dup()
    machine = detect_machine(comm.allgather(mpi.load().Get_processor_name()))
    found = {}
    for rule in given["rules"]:
        most, limit = 2 * MiB, given["limit_bytes"]
        settings = Settings(
            given["seconds"], machine, (comm.size,), termination=rule, max_chunk=most, limit_bytes=limit
        )
        run = PartitionRun(comm, settings, Surroundings(Path(given["directory"]), "unknown", seed=1))
        steps = order(settings.partitions, settings.definition, settings.rewrite)
        ends = [*(one.file_key != other.file_key for one, other in pairwise(steps)), True]
        found[rule] = [run.run(step, last=last).plain() for step, last in zip(steps, ends, strict=True)]
    return found


if __name__ == "__main__":
    mpi.run_rank(lambda comm: run_both(comm, json.loads(sys.argv[1])))
