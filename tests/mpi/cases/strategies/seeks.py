"""Discontinuities of the demonstration program on the emulated store, by strategy."""

import json
import sys
from pathlib import Path

from mpi4py import MPI

from pytest_pario.model import Pattern
from pytest_pario.patterns import Strided
from pytest_pario.workloads.resonance.emulated import measure_seeks

comm = MPI.COMM_WORLD
found = []
for segment in (512, 1024, 2048):
    pattern = Pattern("demo", Strided(segment, per_call=4, ncalls=6), True)
    strategies = ["independent", "two_phase", "data_shipping:block=1024,stripe=4096", "resonant:unit=1024,nodes=4"]
    for one in measure_seeks(comm, Path(sys.argv[1]), pattern, strategies, unit=1024, nodes=4):
        found.append([segment, one.strategy.partition(":")[0], one.phase, one.most, round(one.mean, 3), one.arrivals])
if comm.rank == 0:
    print(json.dumps({"rank": 0, "found": found, "left": [path.name for path in Path(sys.argv[1]).iterdir()]}))
