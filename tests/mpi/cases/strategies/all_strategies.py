"""Every layout under every strategy, written and read, byte-identical to the library's own collective calls."""

import hashlib
import json
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

from pytest_pario.errors import ParameterError, ParioError, ProcessCountError
from pytest_pario.model import Memory, Open, Pattern
from pytest_pario.patterns import Block3D, Cells, RandomSizes, Same, Scattered, Segmented, SparseStrided, Strided, Tiles
from pytest_pario.workloads.runner import Runner, RunRules

comm, directory, seed = MPI.COMM_WORLD, Path(sys.argv[1]), int(sys.argv[2])
n = comm.size
dice = np.random.default_rng(seed)


def pick(low, high):
    return int(dice.integers(low, high))


LAYOUTS = {
    "segmented": Segmented(4 * 4096 + pick(0, 99), (4096, 1, 0, 4095), count=2),
    "strided-pad": Strided(pick(1, 5000), per_call=2, ncalls=2, pad=pick(1, 9000), gap=pick(0, 70)),
    "block3d": Block3D((pick(1, 8), pick(1, 9), pick(1, 12)), 4),  # some ranks have nothing
    "tiles": Tiles(n, 1, 20, 10, 3, 4, 0, 777),
    "scattered": Scattered(pick(16, 1024), 16 * n, seed=3),
    "sparse": SparseStrided(1200, 1200 * n + pick(0, 24000), 2),
    "same": Same(5000, 1),
    "random": RandomSizes(0, pick(2, 5000), 4, 3, seed=pick(1, 99), start=13, pad=7),
    "cells": Cells((4, 2 * n, 3), tuple((((0, 2 * r, 0), (4, 2, 3)),) for r in range(n)), 5),
}
# small units, so that every plan has many blocks, more and fewer nodes than ranks
STRATEGIES = [
    "native",
    "independent",
    f"two_phase:buffer={pick(1, 9000)}",
    f"two_phase:agents={pick(1, n + 1)}",
    f"data_shipping:block={pick(1, 600)},stripe={pick(1, 4000)}",
    f"data_shipping:agents={pick(1, n + 1)}",
    f"resonant:unit={pick(1, 3000)},nodes={pick(1, 4)}",
    f"resonant:unit={pick(1, 3000)},nodes={n + pick(1, 6)},buffer=5000",
    f"resonant:unit={pick(64, 3000)},nodes={pick(2, 6)},scheme=agents,second=exchange",
    f"resonant:unit={pick(64, 3000)},nodes={pick(2, 6)},scheme=timed,delay_s=0.0001",
]
results, digests, times = {}, {}, {}
for name, layout in LAYOUTS.items():
    for gap, coll, pointer in ((0, True, "individual"), (24, False, "explicit")):
        label = f"{name}-gap{gap}"
        try:
            pattern = Pattern(label, layout, coll, pointer=pointer, mem=Memory(1, gap) if gap else Memory(), open=Open(prefill=0xEE))
            pattern.placed(n)
        except (ParameterError, ProcessCountError):
            continue
        if gap and name not in ("strided-pad", "block3d"):
            continue
        # on many ranks a job takes long: each layout meets a third of the strategies beside native there
        shared = [text for k, text in enumerate(STRATEGIES) if n < 5 or k == 0 or k % 3 == (n + list(LAYOUTS).index(name)) % 3]
        for strategy in shared:
            for phase in ("rewrite", "read"):
                rules = RunRules(rounds=1, warmup_rounds=0, seed=7, strategy=strategy, keep=True)
                begun = time.monotonic()
                try:
                    record = Runner(comm, directory, "ext4", rules).run(pattern, phase)
                    results[f"{label}/{strategy}/{phase}"] = "ok" if record.facts["strategy"] != "row" else "not used"
                except ParioError as error:
                    results[f"{label}/{strategy}/{phase}"] = f"{type(error).__name__}: {error}"
                times[strategy] = times.get(strategy, 0) + time.monotonic() - begun
                if comm.rank == 0 and phase == "rewrite":
                    data = (directory / label).read_bytes()
                    digests.setdefault(label, {})[strategy] = hashlib.sha256(data).hexdigest()
                comm.Barrier()
        if comm.rank == 0:
            (directory / label).unlink()
        comm.Barrier()
if comm.rank == 0:
    bad = {name: text for name, text in results.items() if text != "ok"}
    differ = {name: found for name, found in digests.items() if len(set(found.values())) > 1}
    left = [path.name for path in directory.iterdir()]
    print(json.dumps({"rank": 0, "ran": len(results), "bad": bad, "differ": list(differ), "left": left, "times": times}))
