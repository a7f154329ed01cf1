"""The benchmarks of MPI-IO/GPFS: contiguous, discontiguous, file partitioning, access ranges, strided, random records.

Job time from a barrier before the access to one after the sync; several replications, of which the maximum or the mean
counts (GPFS-01..34). Hints that only GPFS knows are dropped by other libraries, and told as dropped.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from pytest_pario.access.executor import Manner
from pytest_pario.errors import ParioError
from pytest_pario.model import Access
from pytest_pario.session.keys import OPTIONS, SESSION
from pytest_pario.units import MB
from pytest_pario.workloads.gpfs.parameters import choose
from pytest_pario.workloads.gpfs.replications import sum_up
from pytest_pario.workloads.gpfs.rows import SCALES, Row, all_rows, task_counts, told_of
from pytest_pario.workloads.parameters import resolve
from pytest_pario.workloads.table import TABLE

if TYPE_CHECKING:
    from pytest_pario.fixtures.runner import Pario


pytestmark = pytest.mark.pario_timeout(nightly=1800, full=7200)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    session, options = metafunc.config.stash.get(SESSION, None), metafunc.config.stash[OPTIONS]
    size = session.size if session else 1
    try:
        choices = choose(resolve(TABLE, options.parameters, os.environ))
        cases = [
            pytest.param(
                row,
                phase,
                id=f"{row.pattern.name}-{phase}" if n == size else f"{row.pattern.name}-n{n}-{phase}",
                marks=[] if n == size else [pytest.mark.pario_ranks(n)],
            )
            for n in task_counts(options.profile, size)
            for row in all_rows(options.profile, n, choices=choices)
            for phase in row.phases
        ]
    except ParioError as error:
        raise pytest.Collector.CollectError(str(error)) from error
    metafunc.parametrize(("row", "phase"), cases)


@pytest.mark.extended
def test_gpfs(row: Row, phase: Access, pario: Pario) -> None:
    given = pario.take("gpfs_replications", "gpfs_drop")
    asked = given["gpfs_replications"] or SCALES[pario.profile].replications
    rounds = 1 if row.single else int(str(asked))
    drop = 0 if row.single else given.whole("gpfs_drop")
    manner = Manner(types_inside=row.types_inside, loop=pario.loop)
    record = pario.run(row.pattern, phase, rounds=rounds, manner=manner)
    samples = record.samples
    rates = [moved / seconds / MB for moved, seconds in zip(samples.moved_bytes, samples.elapsed_s, strict=True)]
    figure = sum_up(rates, row.summary, drop)
    told = {"name": f"{row.pattern.name}-{phase}", "like": row.like, "phase": phase, "way": row.way}
    flags = ["single_replication"] if row.single else []
    outcomes: Any = record.facts.get("hints", {})
    shaped = told_of(row, pario.parameters.hints, outcomes.get("dropped", ()))
    pario.note(gpfs={**figure.plain(), **shaped, **told, "flags": flags})
    assert figure.figure > 0
