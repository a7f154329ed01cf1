"""Every sync rule, barriers inside, both loops, and O_DIRECT: the same bytes each time; prints what failed."""

import json
import sys
from itertools import product
from pathlib import Path

from mpi4py import MPI

from pytest_pario.access.executor import Manner
from pytest_pario.errors import ParioError
from pytest_pario.model import Pattern
from pytest_pario.patterns import Scattered, Strided
from pytest_pario.workloads.runner import Runner, RunRules

comm, directory = MPI.COMM_WORLD, Path(sys.argv[1])
bad, ran = {}, 0
for sync, loop, inside, api in product(
    ("none", "per_pattern", "per_call", "end"), ("auto", "python"), (False, True), ("mpiio", "posix")
):
    pattern = Pattern("p", Strided(4096, ncalls=6), pointer="explicit", api=api, sync=sync)
    rules = RunRules(rounds=1, warmup_rounds=0, manner=Manner(intra_barriers=inside, types_inside=inside, loop=loop))
    for phase in pattern.access:
        ran += 1
        try:
            record = Runner(comm, directory, "ext4", rules).run(pattern, phase)
            assert record.facts["synced"] == (phase != "read" and sync != "none")
            assert sync == "none" or phase == "read" or sync == "per_call" or record.samples.sync[0].max_s > 0
        except ParioError as error:
            bad[f"{sync}-{loop}-{inside}-{api}-{phase}"] = str(error)
many = Pattern("many-views", Scattered(1024, 200 * comm.size, seed=3, region=1024 * comm.size))
Runner(comm, directory, "ext4", RunRules(rounds=1, warmup_rounds=0)).run(many, "rewrite")
if comm.rank == 0:
    print(json.dumps({"rank": 0, "ran": ran, "bad": bad, "left": [p.name for p in directory.iterdir()]}))
