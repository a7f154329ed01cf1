"""A run of BTIO as a record, so that it is saved, compared and judged like any other result."""

from __future__ import annotations

from typing import Any, get_args

from pytest_pario.errors import ParameterError
from pytest_pario.model import Access, Api, Fixed, Hints, Pattern, Record
from pytest_pario.patterns.multipartition import Multipartition
from pytest_pario.units import mib_per_s
from pytest_pario.workloads.btio.classes import POINT_BYTES
from pytest_pario.workloads.btio.outputs import SUBTYPES
from pytest_pario.workloads.btio.result import BtioResult
from pytest_pario.workloads.btio.run import Run

ETYPES = {"full": POINT_BYTES, "simple": 8}


def pattern_of(run: Run) -> Pattern:
    """The row that a run stands for: its name has class, subtype and mode."""
    kind = SUBTYPES[run.subtype]
    api = next(one for one in get_args(Api) if one == kind.api)
    return Pattern(
        run.name,
        Multipartition(run.problem.size, POINT_BYTES),
        kind.collective,
        pointer="explicit",
        files="shared" if kind.conforming else "each",
        access=("write", "read"),
        sync="end" if run.mode == "replay" else "none",
        repeat=Fixed(run.problem.fields),
        hints=Hints(dict(run.hints) if api == "mpiio" else {}),
        api=api,
        etype=ETYPES.get(run.subtype, 1),
    )


def record_of(run: Run, result: BtioResult, phase: Access, device_rate: float | None = None) -> Record:
    """What is saved of the output, or of the read-back."""
    samples = result.write if phase == "write" else result.read
    if samples is None:
        raise ParameterError("phase", phase, "write: without output nothing is read back")
    beside = result.beside[phase]
    facts: dict[str, Any] = {**result.facts, "btio": result.plain(), "hints_requested": dict(run.hints)}
    facts["aside_s"] = beside.aside_s
    if run.mode == "solved" and phase == "write":
        facts["aside_skew_s"] = beside.skew_s
    flags = [*result.flags, *(["paused"] if beside.paused else [])]
    if not result.conforming:
        flags.append("non-conforming")
    if phase == "read":
        facts |= {"timed": "input and close", "synced": False}
        rate = mib_per_s(samples.moved_bytes[0], samples.elapsed_s[0])
        if device_rate is not None and rate > device_rate:
            flags.append("faster_than_device")
    return Record(pattern_of(run), phase, result.ranks, samples, run.seed, {}, facts, tuple(flags))
