"""One rank of a sweep: root prints the rates of all tasks as one line of JSON.

A task is a pattern and a phase, with the sets that are measured in each round. An error of ours comes out as a line of
JSON too, for the process that started the job to show.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_pario import mpi
from pytest_pario.environment.context import Context
from pytest_pario.environment.mount import type_of
from pytest_pario.errors import ParioError, RemoteTaskError
from pytest_pario.model import Record
from pytest_pario.patterns.serial import pattern_from_plain
from pytest_pario.units import mib_per_s
from pytest_pario.workloads.hints import relieve
from pytest_pario.workloads.runner import Runner, RunRules

if TYPE_CHECKING:
    from mpi4py import MPI


def sweep(world: MPI.Intracomm, given: dict[str, Any]) -> dict[str, Any]:
    """Every task in turn; what is wrong on all ranks alike is told, not raised."""
    comm, directory = world.Dup(), Path(given["directory"])
    try:
        place = _Place(comm, directory, mpi.on_root(comm, lambda: type_of(Context(directory)) or "unknown"))
        found = [_sweep(place, task, given["sets"]) for task in given["tasks"]]
    except (ParioError, MemoryError) as error:
        return {"error": _first_cause(comm, error)}
    return {"library": mpi.library_version(), "found": found}


def _first_cause(comm: MPI.Intracomm, error: Exception) -> str:
    """The error of the first rank that has one of its own."""
    own = "" if isinstance(error, RemoteTaskError) else str(error) or type(error).__name__
    return next((text for text in comm.allgather(own) if text), str(error))


@dataclass(frozen=True)
class _Place:
    comm: MPI.Intracomm
    directory: Path
    fstype: str


def _sweep(place: _Place, task: dict[str, Any], sets: list[dict[str, str]]) -> dict[str, Any]:
    """Rates in the order of the plans, and the hints in force with each set that was measured."""
    pattern, phase = pattern_from_plain(task["pattern"]), task["phase"]
    in_force: dict[int, dict[str, str]] = {}

    def measure(number: int) -> float:
        rules = RunRules(rounds=1, warmup_rounds=0, hints=sets[number])
        record = Runner(place.comm, place.directory, place.fstype, rules).run(relieve(pattern, sets[number]), phase)
        in_force.setdefault(number, _in_force(record))
        return mib_per_s(record.samples.moved_bytes[0], record.samples.elapsed_s[0])

    measure(0)
    rates = [[measure(number) for number in plan] for plan in task["plans"]]
    return {"rates": rates, "in_force": in_force}


def _in_force(record: Record) -> dict[str, str]:
    grouped: Any = record.facts.get("hints", {})
    return {**grouped.get("accepted", {}), **grouped.get("changed", {}), **grouped.get("defaulted", {})}


if __name__ == "__main__":
    mpi.run_rank(lambda comm: sweep(comm, json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
