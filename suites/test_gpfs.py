"""The benchmarks of MPI-IO/GPFS: contiguous, discontiguous, file partitioning, access ranges, strided, random records.

Job time from a barrier before the access to one after the sync; several replications, of which the maximum or the mean
counts (GPFS-01..34). Hints that only GPFS knows are dropped by other libraries, and told as dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_pario.access.executor import Manner
from pytest_pario.model import Access
from pytest_pario.session.keys import OPTIONS, SESSION
from pytest_pario.units import MB
from pytest_pario.workloads.gpfs.replications import sum_up
from pytest_pario.workloads.gpfs.rows import SCALES, Row, all_rows

if TYPE_CHECKING:
    from pytest_pario.fixtures.runner import Pario


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    session = metafunc.config.stash.get(SESSION, None)
    rows = all_rows(metafunc.config.stash[OPTIONS].profile, session.size if session else 1)
    cases = [(row, phase) for row in rows for phase in row.phases]
    metafunc.parametrize(("row", "phase"), cases, ids=[f"{row.pattern.name}-{phase}" for row, phase in cases])


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
    flags = ["single_replication"] if row.single else []
    pario.note(gpfs={**figure.plain(), **dict(row.parameters), "flags": flags})
    assert figure.figure > 0
