"""Discontinuities on the emulated store, by strategy: the demonstration program, and ranges that do not overlap."""

import json
import sys
from pathlib import Path

from mpi4py import MPI

from pytest_pario.model import Pattern
from pytest_pario.patterns import Segmented, Strided
from pytest_pario.workloads.resonance.emulated import measure_seeks

comm = MPI.COMM_WORLD
# with units of 1024 B the segments of 1536 B stand for 96 KiB on units of 64 KiB
LAYOUTS = {
    "demo-512": Strided(512, per_call=4, ncalls=6),
    "demo-1024": Strided(1024, per_call=4, ncalls=6),
    "demo-2048": Strided(2048, per_call=4, ncalls=6),
    "mpi-io-test-1024": Strided(1024, ncalls=6),
    "mpi-io-test-1536": Strided(1536, ncalls=6),
    "ior-1024": Segmented(1024 * 8, (1024,), count=8),
}
STRATEGIES = [
    "independent",
    "two_phase",
    "data_shipping:block=1024,stripe=4096",
    "resonant:unit=1024,nodes=4",
    "resonant:unit=1024,nodes=4,scheme=agents",
    "resonant:unit=1024,nodes=4,scheme=agents,buffer=1024",
    "resonant:unit=1024,nodes=4,scheme=agents,merge=false",
]
found = []
for name, layout in LAYOUTS.items():
    for one in measure_seeks(comm, Path(sys.argv[1]), Pattern("p", layout, True), STRATEGIES, unit=1024, nodes=4):
        found.append([name, one.strategy, one.phase, one.most, round(one.mean, 3), one.arrivals])
if comm.rank == 0:
    print(json.dumps({"rank": 0, "found": found, "left": [path.name for path in Path(sys.argv[1]).iterdir()]}))
