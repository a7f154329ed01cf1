"""Two programs on disjoint communicators: rates of both, alone and together, reads compared; a damaged file is noticed."""

import json
import sys
from pathlib import Path

from mpi4py import MPI

import pytest_pario.workloads.resonance.interference as interference
import pytest_pario.workloads.resonance.sharing as sharing
from pytest_pario.errors import ParioError
from pytest_pario.units import KiB
from pytest_pario.workloads.resonance.interference import measure_interference
from pytest_pario.workloads.resonance.programs import demonstration, mpi_io_test

comm, directory = MPI.COMM_WORLD, Path(sys.argv[1])
emptied = []
flush_caches = interference.flush_caches


def counting(ranks, paths, *rest):
    """Empty caches and write down whose."""
    emptied.extend(path.name for path in paths)
    return flush_caches(ranks, paths, *rest)


interference.flush_caches = counting
first, other = demonstration(4 * KiB, 3), mpi_io_test(4 * KiB, 5)
found = {}
for text in ("native", "two_phase", "resonant:unit=4096,nodes=4"):
    for pause in (0.02, 0.0):
        one = measure_interference(comm, directory, first, other, strategy=text, compute_s=pause)
        found[f"{text}/{pause}"] = one.plain()


class Damaging(sharing.SharingProgram):
    """A program whose file is changed behind its back."""

    def write(self):
        super().write()
        if self._comm.rank == 0 and "demo" in self._path.name:
            with self._path.open("r+b") as file:
                file.seek(100)
                file.write(b"\0")


emptied_first = comm.bcast(emptied.count(f"interference-{first.name}"), root=0)
emptied_other = comm.bcast(emptied.count(f"interference-{other.name}"), root=comm.size - 1)

interference.SharingProgram = Damaging
try:
    measure_interference(comm, directory, first, other, strategy="two_phase", compute_s=0.0)
    told = "ok"
except ParioError as error:
    told = type(error).__name__
told = comm.gather(told)
if comm.rank == 0:
    left = [path.name for path in directory.iterdir()]
    counts = [emptied_first, emptied_other]
    print(json.dumps({"rank": 0, "found": found, "emptied": counts, "told": told, "left": left}))
