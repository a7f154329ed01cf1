"""A pattern's result as a record of the common model, with its place in the parameter space (BEFF-66)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from pytest_pario.model import Record, Samples, Spread
from pytest_pario.workloads.beffio.results import PatternResult
from pytest_pario.workloads.beffio.schedule import Step
from pytest_pario.workloads.beffio.settings import Settings
from pytest_pario.workloads.beffio.sizes import pattern_of

if TYPE_CHECKING:
    from pytest_pario.workloads.beffio.execution import PartitionRun

DISTRIBUTIONS = ("strided", "strided", "separate", "segmented", "segmented")


def coordinates(step: Step, result: PatternResult, settings: Settings) -> dict[str, object]:
    """Where the pattern lies in the space of parameters."""
    chunk, row = result.chunk_bytes, step.row
    return {
        "contiguous_memory_bytes": result.call_bytes,
        "contiguous_disk_bytes": chunk,
        "chunks_per_call": result.call_bytes // chunk if chunk else 0,
        "moved_bytes": result.moved_bytes,
        "file_bytes": result.file_bytes,
        "distribution": DISTRIBUTIONS[row.type],
        "wellformed": chunk > 0 and chunk & (chunk - 1) == 0,
        "access": step.access,
        "positioning": "shared pointer" if row.type == 1 and not settings.noshared else "individual pointer",
        "coordination": "collective" if row.type in (0, 1, 4) else "noncollective",
        "synchronism": "blocking",
        "unique": settings.unique_open,
        "atomic": False,
        "dedicated": settings.dedicated,
    }


def record_of(step: Step, result: PatternResult, run: PartitionRun) -> Record:
    """What is saved; the pattern is told without its segment, which is another one in every run."""
    settings = run.settings
    facts: dict[str, object] = {
        "timed": "view, calls, decisions, sync" if step.access != "read" else "view, calls",
        "definition": settings.definition,
        "coordinates": coordinates(step, result, settings),
        "hints": {key: result.hints[key] for key in ("accepted", "changed", "dropped") if key in result.hints},
        "synced": step.access != "read",
        "repetitions": result.repetitions,
    }
    if run.cache is not None:
        facts["cache"] = {**dataclasses.asdict(run.cache), "methods": list(run.cache.methods)}
    samples = Samples(
        (result.moved_bytes,),
        (_all(result.open_s or 0.0),),
        (_all(result.io_s),),
        (_all(result.sync_s),),
        (_all(result.close_s or 0.0),),
        (result.elapsed_s,),
        (result.elapsed_s,),
    )
    pattern = pattern_of(step.row, settings.shape)
    return Record(pattern, step.access, step.n, samples, run.around.seed, {}, facts, result.flags)


def _all(seconds: float) -> Spread:
    """The slowest process's time; the others' was not kept."""
    return Spread(seconds, seconds, seconds, 0.0)
