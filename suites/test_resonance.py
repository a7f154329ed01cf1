"""Resonant I/O and data shipping next to the library's own collective calls (RES-29..41).

Programs of the study: demonstration, coll_perf, mpi-io-test, ior, noncontig and HPIO with four variants each, two
programs at once, and more and more processes. Every byte is verified; the table at the end compares strategies.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_pario.access.executor import Manner
from pytest_pario.errors import ParioError
from pytest_pario.model import Access, Pattern
from pytest_pario.session.keys import OPTIONS, SESSION
from pytest_pario.units import KiB, MiB
from pytest_pario.workloads.parameters import resolve
from pytest_pario.workloads.resonance.choosing import carried_out_by, resonant_strategy
from pytest_pario.workloads.resonance.parameters import OF_NONCONTIG, Choices, choose
from pytest_pario.workloads.resonance.programs import demonstration
from pytest_pario.workloads.resonance.room import lack_of_room
from pytest_pario.workloads.resonance.rows import Row, rows, scaling_row, shared_patterns
from pytest_pario.workloads.resonance.scan import rates_of_rounds
from pytest_pario.workloads.table import TABLE

if TYPE_CHECKING:
    from mpi4py import MPI

    from pytest_pario.fixtures.operations import Operations
    from pytest_pario.fixtures.runner import Pario

pytestmark = pytest.mark.pario_timeout(nightly=1800, full=7200)  # published sizes, several passes of them

STRATEGIES = ("native", "independent", "two_phase", "data_shipping", "resonant")
BRIEF = ("native", "resonant")
"""What the variants are run with in the quick profile."""
SCANS = {
    "quick": (64, 256, 1024),
    "nightly": (32, 64, 128, 256, 512, 1024),
    "full": (16, 32, 64, 128, 256, 512, 1024),
}
"""Segments of a scan, KiB."""
SCANNED = {"quick": 1 * MiB, "nightly": 64 * MiB, "full": 1024 * MiB}
"""Bytes that each process reads for one point of a scan."""


def cases(profile: str, ranks: int, choices: Choices) -> list[tuple[Row, str, Access]]:
    """Each program with each strategy, written and read.

    Quick runs all of that on the demonstration and noncontig only; a read writes first, so that the other programs are
    verified in both directions too.
    """
    found: list[tuple[Row, str, Access]] = []
    for row in rows(profile, ranks, choices):
        name = row.pattern.name
        whole = profile != "quick" or name.startswith("demo") or name.endswith("16KiB-c-nc")
        phases: tuple[Access, ...] = ("write", "read") if whole else ("read",)
        strategies = STRATEGIES if whole else BRIEF
        found += [(row, strategy, phase) for strategy in strategies for phase in phases]
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    options = metafunc.config.stash[OPTIONS]
    profile = options.profile
    session = metafunc.config.stash.get(SESSION, None)
    if "row" in metafunc.fixturenames:
        try:
            given = resolve(TABLE, options.parameters, os.environ)
            with given.blamed({name: name for name in OF_NONCONTIG}):
                chosen = cases(profile, session.size if session else 1, choose(given))
        except ParioError as error:
            raise pytest.Collector.CollectError(str(error)) from error
        ids = [f"{row.pattern.name}-{strategy}-{phase}" for row, strategy, phase in chosen]
        metafunc.parametrize(("row", "strategy", "phase"), chosen, ids=ids)
    if "segment" in metafunc.fixturenames:
        metafunc.parametrize(
            "segment", [size * KiB for size in SCANS[profile]], ids=[f"{s}KiB" for s in SCANS[profile]]
        )


class Comparing:
    """Runs a row under a strategy and keeps it for the table."""

    def __init__(self, pario: Pario, comm: MPI.Intracomm, directory: Path, memory_bytes: int) -> None:
        """Belong to one test."""
        self._pario, self._comm, self._directory, self._memory_bytes = pario, comm, directory, memory_bytes
        self.profile, self.flush_rule = pario.profile, pario.flush_rule

    def text(self, strategy: str) -> tuple[str, str]:
        """A strategy with its parameters, and where its striping comes from."""
        if strategy != "resonant":
            return strategy, ""
        return resonant_strategy(self._comm, self._directory, self._pario.parameters.hints)

    def require_room(self, programs: list[tuple[Pattern, int]], phase: Access) -> None:
        """Skip what does not fit here, with both figures."""
        reason = lack_of_room(self._comm, self._directory, programs, phase, self._memory_bytes)
        if reason:
            pytest.skip(reason)

    def run(self, row: Row, phase: Access, strategy: str) -> None:
        """Measure, keep, and see that the strategy was the one asked for."""
        text, source = self.text(strategy)
        self._pario.take(*row.uses)
        self.require_room([(row.under(strategy), self._comm.size)], phase)
        pattern, manner = row.under(strategy), Manner(loop=self._pario.loop, call_barriers=row.call_barriers)
        rules: dict[str, Any] = {"rounds": 3, "warmup_rounds": row.warmup_rounds, "manner": manner}
        record = self._pario.run(pattern, phase, strategy=text, **rules)
        really = carried_out_by(strategy, self._pario.parameters.hints)
        shown = strategy if really == strategy else f"{strategy} (as {really})"
        kept = {"row": pattern.name, "phase": phase, "strategy": shown}
        self._pario.note(strategy_row=kept, striping_source=source)
        assert str(record.facts["strategy"]).partition(":")[0] == really
        assert record.samples.moved_bytes


@pytest.fixture
def comparing(request: pytest.FixtureRequest, pario: Pario, comm: MPI.Intracomm, scratch_dir: Path) -> Comparing:
    """Run rows under strategies."""
    return Comparing(pario, comm, scratch_dir, request.config.stash[OPTIONS].memory_bytes)


# RES-29: three runs, caches flushed before each, read programs also run as writes; RES-30..37, RES-41
@pytest.mark.extended
def test_program(row: Row, strategy: str, phase: Access, comparing: Comparing) -> None:
    comparing.run(row, phase, strategy)


# RES-40: 1 MiB segments on 1, 2, 4, … processes
@pytest.mark.extended
@pytest.mark.pario_clients("all")
@pytest.mark.parametrize("strategy", BRIEF)
def test_scaling(strategy: str, clients: int, comm: MPI.Intracomm, comparing: Comparing) -> None:
    assert comm.size == clients
    comparing.run(scaling_row(comparing.profile, comm.size), "read", strategy)


PAUSES = {"quick": (0.01, 0.0), "nightly": (0.1, 0.01, 0.0), "full": (1.0, 0.3, 0.1, 0.03, 0.0)}
"""Seconds that the other program computes between its calls."""


# RES-38, RES-39: two programs on disjoint communicators, each rate with and without the other
@pytest.mark.extended
@pytest.mark.parametrize("strategy", ["native", "two_phase", "resonant"])
def test_interference(
    strategy: str, comm: MPI.Intracomm, scratch_dir: Path, operations: Operations, comparing: Comparing
) -> None:
    from pytest_pario.workloads.resonance.interference import measure_interference

    if comm.size < 4:
        pytest.skip("two programs of two processes each need four ranks")
    text, _ = comparing.text(strategy)
    halves = comm.size // 2, comm.size - comm.size // 2
    first, other = shared_patterns(comparing.profile, halves)
    comparing.require_room([(first, halves[0]), (other, halves[1])], "read")
    found = [
        measure_interference(comm, scratch_dir, first, other, strategy=text, compute_s=pause, rule=comparing.flush_rule)
        for pause in PAUSES[comparing.profile]
    ]
    operations(found[-1], case=f"interference-{strategy}", interference=[one.plain() for one in found])
    for one in found:
        assert all(rate > 0 for rate in (*one.alone, *one.together, *one.other_alone, *one.other_together))


# RES-41: where is the peak of non-collective reads, and what striping would it mean
@pytest.mark.extended
@pytest.mark.pario_clients("all")
def test_scan(segment: int, clients: int, pario: Pario, comm: MPI.Intracomm) -> None:
    assert comm.size == clients
    calls = max(1, SCANNED[pario.profile] // (4 * segment))
    record = pario.run(demonstration(segment, calls, coll=False), "read", rounds=3, warmup_rounds=0)
    pario.note(resonance_scan={comm.size: {segment: list(rates_of_rounds(record))}})
    assert sum(record.samples.moved_bytes) == 3 * comm.size * calls * 4 * segment
