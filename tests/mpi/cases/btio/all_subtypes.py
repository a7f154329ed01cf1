"""Class S with every subtype, others as asked for; the bytes of each file, and how near the norms come."""

import hashlib
import sys

from stage import COMM, DIRECTORY, run, tell

from pytest_pario.workloads.btio.compiled import kernels

found = {}
for subtype in ("none", "full", "simple", "fortran", "epio"):
    result = run("S", subtype)
    found[subtype] = {one.name: one.deviation for one in result.comparisons}
    found[subtype]["cache"] = result.facts.get("cache", {}).get("state")
digests = {}
if COMM.rank == 0:
    for subtype in ("full", "simple", "fortran"):
        digests[subtype] = hashlib.sha256((DIRECTORY / f"btio.{subtype}.out").read_bytes()).hexdigest()
sizes = [path.stat().st_size for path in sorted(DIRECTORY.glob("btio.epio.out.*"))]
COMM.Barrier()
memory = {}
for other in sys.argv[2:]:
    result = run(*other.split("-"), keep=other == "W-full")
    if other == "W-full" and COMM.rank == 0:
        digests["W"] = hashlib.sha256((DIRECTORY / "btio.full.out").read_bytes()).hexdigest()
    COMM.Barrier()
    found[other] = {one.name: one.deviation for one in result.comparisons}
    memory[other[0]] = result.memory_bytes
hits = sum(kernels()["sweep_across"].stats.cache_hits.values())
tell(found=found, memory=memory, digests=digests, epio=sizes, hits=hits)
