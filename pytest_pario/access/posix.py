"""The same plan with plain POSIX calls (MODEL-09), buffered or with O_DIRECT."""

from __future__ import annotations

import os
from itertools import pairwise

import numpy as np

from pytest_pario.access.calls import CALLS
from pytest_pario.access.executor import PLAIN, Manner, Pass
from pytest_pario.access.loops import Loop, choose_loop, posix_series
from pytest_pario.access.target import Target
from pytest_pario.errors import ParameterError, ShortTransferError
from pytest_pario.measure.clock import Stopwatch
from pytest_pario.model import Access, Extents, Int64, Plan
from pytest_pario.patterns.payload import Payload


def run_posix_pass(
    target: Target, work: Plan, phase: Access, payload: Payload, manner: Manner = PLAIN, *, direct: int = 0
) -> Pass:
    """Make one pass with pwrite or pread; `direct` is the alignment of O_DIRECT, 0 for buffered calls."""
    table, reads = work.ranks[target.rank], phase == "read"
    if direct:
        require_aligned(target.pattern.name, table, payload, direct)
    flags = os.O_RDONLY if reads else os.O_RDWR | os.O_CREAT
    flags |= os.O_DIRECT if direct else 0
    series = posix_series(
        None, CALLS["read_at" if reads else "write_at"], payload.data, *_pieces(table, payload), offsets=table.offsets
    )
    loop = Loop(series, choose_loop(manner.loop, target="posix", comm=target.comm))
    per_call = target.pattern.sync == "per_call" and not reads
    job = target.pattern.metric == "job_time"
    syncs = target.pattern.sync != "none" and not per_call and (job or not reads)
    between = target.comm.Barrier if manner.intra_barriers else _nothing
    as_a_job = target.comm.Barrier if job else _nothing
    noted: list[Exception] = []
    watch = Stopwatch()

    target.comm.Barrier()
    watch.start()
    handle = os.open(target.own_file, flags, 0o644)
    as_a_job()
    watch.mark()
    between()
    loop.use(handle)
    if per_call:
        for first, last in pairwise(table.bounds.tolist()):
            loop.run(first, last)
            _note(noted, handle)
    else:
        loop.run()
    watch.mark()
    if syncs:
        _note(noted, handle)
    as_a_job()
    watch.mark()
    between()
    os.close(handle)
    watch.stop()
    acts = ["open", "access", *(["sync"] if syncs or per_call else []), "close"]

    moved = int(loop.moved_bytes.sum())
    errors = noted + [OSError(code, os.strerror(code)) for _, code in loop.errors]
    if moved != table.total_bytes and not errors:
        errors.append(ShortTransferError("pread" if reads else "pwrite", None, table.total_bytes, moved))
    return Pass(watch.times(moved), errors, acts=tuple(acts))


def _note(noted: list[Exception], handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as error:
        noted.append(error)


def _nothing() -> None:
    """Stand for a barrier that is not wanted."""


def require_aligned(name: str, table: Extents, payload: Payload, unit: int) -> None:
    """Explain what O_DIRECT needs; sizes that it cannot do are never silently buffered."""
    for what, values in (
        ("offset", table.offsets),
        ("length", table.lengths),
        ("memory address", payload.positions + payload.data.ctypes.data),
    ):
        odd = values[values % unit != 0]
        if odd.size:
            allowed = f"a multiple of {unit} B for O_DIRECT here; use buffered I/O or other sizes"
            raise ParameterError(f"{name}: {what}", int(odd[0]), allowed)


def _pieces(table: Extents, payload: Payload) -> tuple[Int64, Int64]:
    """Start in the buffer, and length, of every extent; shape (extents,) each."""
    calls = np.repeat(np.arange(table.call_count), np.diff(table.bounds))
    ends = np.concatenate(([0], np.cumsum(table.lengths)))
    # data position of each extent in its call
    within = ends[:-1] - ends[table.bounds[:-1]][calls]
    return payload.positions[calls] + within, table.lengths
