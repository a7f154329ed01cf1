from __future__ import annotations

import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.patterns import beff_partitions, client_sweep

# BEFF-47, BEFF-48: first SIZE of each range, small, medium
BREAKS = [
    (5, 2, 4),
    (12, 2, 8),
    (20, 4, 8),
    (32, 4, 16),
    (87, 4, 32),
    (142, 8, 32),
    (232, 8, 64),
    (625, 8, 128),
    (1024, 16, 128),
    (1681, 16, 256),
    (4523, 16, 512),
    (7420, 32, 512),
    (12174, 32, 1024),
    (32768, 32, 2048),
    (53762, 64, 2048),
    (88205, 64, 4096),
    (237431, 64, 8192),
]


@pytest.mark.parametrize(("size", "sizes"), [(1, (1,)), (2, (1, 2)), (3, (1, 2, 3)), (4, (2, 3, 4))])
def test_few_processes(size: int, sizes: tuple[int, ...]) -> None:
    # BEFF-45, BEFF-46
    assert beff_partitions(size) == sizes


@pytest.mark.parametrize(("first", "row"), [(row[0], row) for row in BREAKS])
def test_break_points(first: int, row: tuple[int, int, int]) -> None:
    assert beff_partitions(first) == (row[1], row[2], first)


@pytest.mark.parametrize(("size", "row"), list(zip([r[0] - 1 for r in BREAKS[1:]], BREAKS, strict=False)))
def test_one_below_each_break_point(size: int, row: tuple[int, int, int]) -> None:
    assert beff_partitions(size) == (row[1], row[2], size)


@pytest.mark.parametrize(
    ("size", "sweep"), [(1, (1,)), (2, (1, 2)), (3, (1, 2, 3)), (4, (1, 2, 4)), (6, (1, 2, 4, 6)), (8, (1, 2, 4, 8))]
)
def test_sweep_over_clients(size: int, sweep: tuple[int, ...]) -> None:
    # CONS-09
    assert client_sweep(size) == sweep


def test_no_processes() -> None:
    for function in (beff_partitions, client_sweep):
        with pytest.raises(ParameterError):
            function(0)
