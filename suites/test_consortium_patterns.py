"""Access patterns of the Parallel I/O Benchmarking Consortium: segmented, strided, random, general.

Each for collective and independent calls, by file view and by explicit offset, with MPI-IO and with POSIX, written and
read. The rows are in workloads/consortium/rows.py.
Patterns and terms: B. Loewe, 2002-04-23 (CONS-10..24, CONS-75).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_pario.fixtures.parameters import given_parameters
from pytest_pario.model import Access
from pytest_pario.session.keys import OPTIONS
from pytest_pario.workloads.consortium.direct import look_direct
from pytest_pario.workloads.consortium.rows import Row, rows

if TYPE_CHECKING:
    from mpi4py import MPI

    from pytest_pario.fixtures.runner import Pario


pytestmark = pytest.mark.pario_timeout(nightly=1800, full=7200)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "row" in metafunc.fixturenames:
        chosen = rows(metafunc.config.stash[OPTIONS].profile, given_parameters(metafunc.config))
        metafunc.parametrize("row", [pytest.param(row, id=row.name, marks=marks_of(row)) for row in chosen])


def marks_of(row: Row) -> list[pytest.MarkDecorator]:
    """The set that a row belongs to (CONS-01), and why it cannot be run."""
    found = [pytest.mark.concise if row.is_concise else pytest.mark.extended]
    return [*found, pytest.mark.skip(reason=row.problem)] if row.problem else found


@pytest.mark.pario_clients("profile")
@pytest.mark.parametrize("phase", ["write", "read"])
def test_pattern(  # noqa: PLR0917 - as many as the test has sides
    row: Row, phase: Access, clients: int, pario: Pario, comm: MPI.Intracomm, scratch_dir: Path
) -> None:
    assert row.pattern is not None
    given = pario.use(row.given)
    unit = 0
    if row.pattern.api == "posix" and given["direct"]:
        able = look_direct(comm, scratch_dir, row.pattern)
        if able.problem:
            pytest.skip(able.problem)
        unit = able.unit
    record = pario.run(row.pattern, phase, rounds=3, cross=True, direct=unit)
    assert record.samples.moved_bytes
    assert record.n == clients
    pario.note(sweep=f"{row.name}-{phase}")
