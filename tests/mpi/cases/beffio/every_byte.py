"""All patterns written, rewritten and read, verified by the run itself; then bytes are damaged and must be found."""

import json
import math
import sys
from pathlib import Path

from mpi4py import MPI

from pytest_pario.errors import VerificationError
from pytest_pario.units import MiB
from pytest_pario.workloads.beffio.execution import PartitionRun, Surroundings
from pytest_pario.workloads.beffio.results import Results
from pytest_pario.workloads.beffio.schedule import order
from pytest_pario.workloads.beffio.settings import Machine, Settings

comm, directory = MPI.COMM_WORLD.Dup(), Path(sys.argv[1])
around = Surroundings(directory, "ext4", seed=7)
machine = Machine(comm.size, comm.size, 256 * MiB, 1024 * MiB)


def run_all(run, steps, before=lambda step: None):
    found = []
    for number, step in enumerate(steps):
        before(step)
        last = number + 1 == len(steps) or steps[number + 1].file_key != step.file_key
        found.append(run.run(step, last=last))
    return Results(tuple(found))


def flip(path, offset):
    comm.Barrier()
    if comm.rank == 0:
        with open(path, "r+b") as file:
            file.seek(offset)
            old = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([old ^ 1]))
    comm.Barrier()


def damage(kind, access, settings):
    """Change one byte of a file, and say what the run made of it."""
    steps = [step for step in order(settings.partitions, "2.0", "all") if step.row.type == kind]
    run = PartitionRun(comm, settings, around)
    real, path = run._verify, directory / f"n{comm.size}-{steps[0].row.kind}"

    def verify(step, target, base, content):
        if step.row.label == "32k":
            flip(path, base + 1000)
        real(step, target, base, content)

    def between(step):
        if step.access == "read" and step.row.number == steps[0].row.number:
            flip(path, 1000)

    if access == "write":
        run._verify = verify
    try:
        run_all(run, [step for step in steps if step.access in ("write", access)], between)
    except VerificationError as error:
        return str(error)
    finally:
        comm.Barrier()
        if comm.rank == 0:
            for left in directory.iterdir():
                left.unlink()
        comm.Barrier()
    return "nothing was found"


def run_part(settings, chosen):
    """Some steps only: what is left out must neither move the others nor spoil them."""
    run = PartitionRun(comm, settings, around)
    steps = [step for step in order(settings.partitions, "2.0", "all") if chosen(step)]
    try:
        return len(run_all(run, steps).patterns)
    finally:
        comm.Barrier()
        if comm.rank == 0:
            for left in directory.iterdir():
                left.unlink()
        comm.Barrier()


for word in sys.argv[2:]:
    given = {"rewrite": "all", "limit_bytes": 4 * MiB, "noshared": word == "noshared"}
    settings = Settings(0.2, machine, (comm.size,), **given)
    results = run_all(PartitionRun(comm, settings, around), order(settings.partitions, "2.0", "all"))
    by_key = {(one.access, one.number): one for one in results.patterns}
    written = [one for one in results.patterns if one.access == "write" and one.row.type <= 2]
    short = Settings(0.4, machine, (comm.size,), termination="per_call", **{**given, "rewrite": "type0"})
    steps = [s for s in order(short.partitions, "2.0", "type0") if s.row.type == 2 and s.access != "rewrite"]
    per_call = run_all(PartitionRun(comm, short, around), steps)
    told = {
        "rank": 0,
        "ran": len(results.patterns),
        "replayed": all(one.repetitions == by_key["write", one.number].repetitions for one in results.patterns),
        "few_decisions": all(one.decisions <= 2 * math.log2(one.repetitions + 1) + 12 for one in written),
        "per_call_decisions": all(o.decisions == o.repetitions for o in per_call.patterns if o.access == "write"),
        "parts": [
            # reading begins in the middle; a pattern was not rewritten; the first ones were never written
            run_part(settings, lambda s: s.row.type == 1 and (s.access == "write" or s.row.number in (12, 14))),
            run_part(settings, lambda s: s.row.type in (2, 3) and (s.access == "write" or s.row.number in (20, 29))),
            run_part(settings, lambda s: s.row.type == 0 and (s.access != "rewrite" or s.row.number != 3)),
            run_part(settings, lambda s: s.row.type in (1, 4) and s.row.number in (11, 13, 38, 40)),
        ],
        "damaged_write": damage(0, "write", settings),
        "damaged_read": damage(3, "read", settings),
    }
    if comm.rank == 0:
        print(json.dumps(told))
