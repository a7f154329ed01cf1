"""One call of more than 2 GiB, written and read back, every byte checked (ENV-05)."""

import json
import sys
from pathlib import Path

from mpi4py import MPI

from pytest_pario.model import Pattern
from pytest_pario.patterns import Segmented
from pytest_pario.workloads.runner import Runner, RunRules

size = (2 << 30) + 4104
pattern = Pattern("large", Segmented(size, (size,)), pointer="explicit")
rules = RunRules(rounds=1, warmup_rounds=0)
for phase in ("write", "read"):
    record = Runner(MPI.COMM_WORLD, Path(sys.argv[1]), "ext4", rules).run(pattern, phase)
print(json.dumps({"rank": 0, "moved": record.samples.moved_bytes[0] - size}))
