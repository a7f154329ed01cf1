"""Every layout by every call, written, rewritten and read, every byte checked; prints what failed, by rank 0."""

import json
import sys
from itertools import product
from pathlib import Path

from mpi4py import MPI

from pytest_pario.access.executor import leave_together, run_pass
from pytest_pario.access.posix import run_posix_pass
from pytest_pario.access.target import Target, prepare_new, remove_files
from pytest_pario.access.verification import cross_read, make_reading_room, verify_read, verify_written
from pytest_pario.errors import ParameterError, ParioError, ProcessCountError
from pytest_pario.model import Access, Memory, Open, Pattern, Plan
from pytest_pario.patterns import (
    Block3D,
    RandomSizes,
    Same,
    Scattered,
    Segmented,
    SparseStrided,
    Strided,
    Tiles,
)
from pytest_pario.patterns.payload import Payload, ring_payload, whole_payload
from pytest_pario.patterns.planning import plan
from pytest_pario.patterns.stamp import Content, content_of
from pytest_pario.workloads.runner import Runner, RunRules, takes_whole

comm, directory = MPI.COMM_WORLD, Path(sys.argv[1])
n = comm.size
LAYOUTS = {
    "segmented": Segmented(4 * 4096, (4096,) * 4),
    "strided": Strided(1032, per_call=8, ncalls=4),
    "strided-pad": Strided(4096, per_call=2, ncalls=3, pad=100),
    "strided-1": Strided(1000, ncalls=5),
    "tiles": Tiles(n, 1, 20, 10, 3, 4, 0, 777),
    "tiles-idle": Tiles(max(1, n - 1), 1, 20, 10, 3, 4, 0, 777),  # CONS-64: the last rank has no tile
    "block3d": Block3D((7, 9, 11), 4),  # some ranks have nothing
    "scattered": Scattered(1024, 64 * n, seed=3, region=32 * 1024),
    "random": RandomSizes(0, 5000, 4, 3, seed=5, start=13, pad=7),
    "sparse": SparseStrided(1200, 24000, 5),
    "same": Same(5000, 2),
    "large-segmented": Segmented(2 * 400_000, (400_000,) * 2),  # calls longer than rings and sieving buffers
    "large-strided": Strided(300 * 1024 + 8, per_call=2, ncalls=2),
}
WAYS = list(product((False, True), ("explicit", "individual", "shared"), ("shared", "each"), ("mpiio", "posix"), (0, 24)))
# a rewrite and a read begin with a write that is verified, too
PHASES = sys.argv[2].split(",") if len(sys.argv) > 2 else ["write", "rewrite", "read"]
RULES = RunRules(rounds=1, warmup_rounds=0, seed=7, cross=True)
results = {}


def in_a_row(pattern: Pattern) -> None:
    """Write, rewrite and read one file, with nothing made ready anew in between: three passes in place of five."""
    target, work = Target(comm, pattern, directory / pattern.name, {}), plan(pattern, n)
    try:
        prepare_new(target, work)
        one_pass(target, work, "write", content_of(work, RULES.seed, 0))
        content = content_of(work, RULES.seed, 1)
        one_pass(target, work, "rewrite", content)
        one_pass(target, work, "read", content)
        if not pattern.mem.gap and (pattern.pointer != "shared" or pattern.coll):
            cross_read(target, work, content)
    finally:
        remove_files(target)


def one_pass(target: Target, work: Plan, phase: Access, content: Content) -> None:
    payload = memory_of(target, work, phase, content)
    make = run_posix_pass if target.pattern.api == "posix" else run_pass
    leave_together(target, phase, make(target, work, phase, payload))
    if phase == "read":
        verify_read(target, work, content, payload)
    else:
        verify_written(target, work, content)


def memory_of(target: Target, work: Plan, phase: Access, content: Content) -> Payload:
    if phase == "read":
        return make_reading_room(target, work)
    make = whole_payload if takes_whole(RULES, content) else ring_payload
    return make(content, comm.rank, work.ranks[comm.rank], target.pattern.mem)


for (name, layout), (coll, pointer, files, api, gap) in product(LAYOUTS.items(), WAYS):
    label = f"{name}-{pointer}-{files}-{api}-{'coll' if coll else 'ind'}-gap{gap}"
    memory = Memory(4, gap) if gap else Memory()
    try:
        pattern = Pattern(
            label, layout, coll, pointer=pointer, files=files, api=api, mem=memory, open=Open(prefill=0xEE)
        )
        pattern.placed(n)
    except (ParameterError, ProcessCountError):
        continue  # a combination that the model refuses
    if gap and name in ("random", "large-segmented", "large-strided"):
        continue  # random sizes are no multiples of a piece
    for phase in PHASES:
        try:
            if phase == "in-a-row":
                in_a_row(pattern)
            else:
                Runner(comm, directory, "ext4", RULES).run(pattern, phase)
            results[f"{label}/{phase}"] = "ok"
        except ParioError as error:
            results[f"{label}/{phase}"] = f"{type(error).__name__}: {error}"
if comm.rank == 0:
    bad = {name: text for name, text in results.items() if text != "ok"}
    print(json.dumps({"rank": 0, "ran": len(results), "bad": bad, "left": [p.name for p in directory.iterdir()]}))
