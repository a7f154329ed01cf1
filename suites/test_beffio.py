"""b_eff_io: every pattern a test, in the benchmark's order; at the end the values of types, partitions and system.

    mpiexec -n 4 python -m pytest --with-mpi suites/test_beffio.py --pario-time 60
    mpiexec -n 4 python -m pytest --with-mpi suites/test_beffio.py -k scatter

The file of a type stays open from its first pattern to its last one; only what is between a pattern's own barriers
counts (BEFF-30). A part that was deselected or failed makes every value that needs it incomplete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_pario.fixtures.beffio import Beffio
    from pytest_pario.model import Access
    from pytest_pario.workloads.beffio.schedule import Step

pytestmark = pytest.mark.pario_once


@pytest.mark.extended
def test_pattern(beff_step: Step, beffio: Beffio) -> None:
    result = beffio.run(beff_step)
    assert result.moved_bytes == beff_step.n * result.call_bytes * result.repetitions


@pytest.mark.extended
def test_type(beff_type: tuple[int, Access, int], beffio: Beffio) -> None:
    assert beffio.type_value(*beff_type) > 0


@pytest.mark.extended
def test_access(beff_access: tuple[int, Access], beffio: Beffio) -> None:
    assert beffio.access_value(*beff_access) > 0


@pytest.mark.concise
def test_partition(beff_partition: int, beffio: Beffio) -> None:
    assert beffio.partition_value(beff_partition) > 0


@pytest.mark.concise
def test_system(beffio: Beffio) -> None:
    assert beffio.system_value() > 0
