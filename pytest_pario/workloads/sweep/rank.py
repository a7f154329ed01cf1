"""One rank of a sweep: every set on every pattern, in turns; root prints the rates as one line of JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_pario import mpi
from pytest_pario.environment.context import Context
from pytest_pario.environment.mount import type_of
from pytest_pario.model import Access, Pattern, Record
from pytest_pario.patterns.serial import pattern_from_plain
from pytest_pario.units import mib_per_s
from pytest_pario.workloads.runner import Runner, RunRules

if TYPE_CHECKING:
    from mpi4py import MPI


def sweep(world: MPI.Intracomm, given: dict[str, Any]) -> dict[str, Any]:
    """Every pattern and phase in turn."""
    comm, directory = world.Dup(), Path(given["directory"])
    place = _Place(comm, directory, mpi.on_root(comm, lambda: type_of(Context(directory)) or "unknown"))
    found = []
    for row in given["patterns"]:
        pattern = pattern_from_plain(row)
        for phase in given["phases"]:
            found.append({"pattern": pattern.name, "phase": phase, **_sweep(place, pattern, phase, given)})
    return {"library": mpi.library_version(), "found": found}


@dataclass(frozen=True)
class _Place:
    comm: MPI.Intracomm
    directory: Path
    fstype: str


def _sweep(place: _Place, pattern: Pattern, phase: Access, given: dict[str, Any]) -> dict[str, Any]:
    """Rates in the order of the plans, and what became of the hints of each set."""
    told: dict[int, dict[str, Any]] = {}

    def measure(number: int) -> float:
        rules = RunRules(rounds=1, warmup_rounds=0, hints=given["sets"][number])
        record = Runner(place.comm, place.directory, place.fstype, rules).run(pattern, phase)
        told.setdefault(number, _hints(record))
        return mib_per_s(record.samples.moved_bytes[0], record.samples.elapsed_s[0])

    measure(0)
    rates = [[measure(number) for number in plan] for plan in given["plans"]]
    return {"rates": rates, "told": [told[number] for number in range(len(given["sets"]))]}


def _hints(record: Record) -> dict[str, Any]:
    grouped: Any = record.facts.get("hints", {})
    in_force = {**grouped.get("accepted", {}), **grouped.get("changed", {}), **grouped.get("defaulted", {})}
    return {"in_force": in_force, "dropped": sorted(grouped.get("dropped", {}))}


if __name__ == "__main__":
    mpi.run_rank(lambda comm: sweep(comm, json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
