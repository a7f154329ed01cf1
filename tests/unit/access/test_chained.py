"""The parts of a pattern's time, on a clock that moves only where the pattern waits, moves data or is verified."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mpi4py import MPI

from pytest_pario import mpi
from pytest_pario.access import chained
from pytest_pario.access.chained import ChainedFile, PatternPass
from pytest_pario.access.handing import Handing
from pytest_pario.access.target import Target
from pytest_pario.access.verification import make_reading_room
from pytest_pario.measure import repetition
from pytest_pario.model import Access, Pattern
from pytest_pario.patterns.payload import ring_payload
from pytest_pario.patterns.segmented import Segmented
from pytest_pario.patterns.stamp import Content

BARRIER_S, BROADCAST_S, SYNC_S, VIEW_S, CALL_S, ASIDE_S = 1, 10, 100, 1000, 10_000, 5_000_000
NOW_S = [0]


class Waiting(MPI.Intracomm):
    """One rank that waits for itself."""

    def Barrier(self) -> None:  # noqa: N802 - as mpi4py has it
        NOW_S[0] += BARRIER_S

    def bcast(self, obj: Any, root: int = 0) -> Any:
        NOW_S[0] += BROADCAST_S
        return obj


class Slow(MPI.File):
    """A file whose views and syncs take time."""

    def Set_view(self, *given: Any) -> None:  # noqa: N802 - as mpi4py has it
        NOW_S[0] += VIEW_S
        super().Set_view(*given)

    def Sync(self) -> None:  # noqa: N802 - as mpi4py has it
        NOW_S[0] += SYNC_S
        super().Sync()


class Library:
    """The library but for its files."""

    File = Slow

    def __getattr__(self, name: str) -> Any:
        return getattr(MPI, name)


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    real, clock = Handing.run, SimpleNamespace(perf_counter_ns=lambda: NOW_S[0] * 10**9)

    def run(self: Handing, first: int, last: int) -> None:
        NOW_S[0] += CALL_S * (last - first)
        real(self, first, last)

    monkeypatch.setattr(Handing, "run", run)
    monkeypatch.setattr(mpi, "load", Library)
    for module in (chained, repetition):
        monkeypatch.setattr(module, "time", clock)
    pattern = Pattern("row", Segmented(0, (1024,)), pointer="individual", files="each", sync="per_pattern")
    return Target(Waiting(MPI.COMM_SELF), pattern, tmp_path / "file", {})


def write(target: Target, phase: Access, count: int = 0) -> PatternPass:
    file = ChainedFile(target, phase, loop="python")
    file.open()
    content = Content(1, 0)

    def ring(table: Any) -> Any:
        return ring_payload(content, 0, table, target.pattern.mem)

    made = file.run(target, count, ring=ring) if count else file.write_timed(target, ring, 8 * CALL_S, "per_call")
    file.close()
    assert not made.errors
    return made


def total(made: PatternPass) -> float:
    return made.io_s + made.barrier_s + made.broadcast_s + made.sync_s


def test_parts_of_a_written_pattern_add_up(target: Target) -> None:  # BEFF-34
    first = write(target, "write")
    assert first.repetitions == first.decisions > 3
    again = write(target, "rewrite", first.repetitions)
    for made in (first, again):
        assert made.elapsed_s == total(made)
        # the view belongs to the calls
        assert made.io_s == VIEW_S + CALL_S * first.repetitions
        assert (made.sync_s, made.aside_s) == (SYNC_S, 0)
    # both wait before the sync and after it; the time-driven one with each decision, too
    assert again.barrier_s == 2 * BARRIER_S
    assert first.barrier_s - again.barrier_s == BARRIER_S * first.decisions
    assert first.broadcast_s == BROADCAST_S * first.decisions
    assert again.last_call_s == first.last_call_s == CALL_S


def test_reading_stands_still_while_it_is_verified(target: Target) -> None:  # BEFF-30, BEFF-34
    count = write(target, "write").repetitions
    file = ChainedFile(target, "read", loop="python")
    file.open()
    seen = []

    def look(part: Any, _room: Any) -> None:
        NOW_S[0] += ASIDE_S
        seen.append(part.repetitions)

    made = file.run(target, count, filling=lambda part: make_reading_room(target, part), chunk_bytes=3072, after=look)
    file.close()
    assert sum(seen) == count
    assert len(seen) > 1
    assert made.elapsed_s == total(made) == VIEW_S + CALL_S * count + BARRIER_S * len(seen)
    # looking at the last part keeps nobody from reading
    assert made.aside_s == (ASIDE_S + BARRIER_S) * (len(seen) - 1)
    assert made.sync_s == 0
