from __future__ import annotations

import itertools

import pytest

from pytest_pario.patterns.partitions import beff_partitions
from pytest_pario.workloads.beffio.averages import ACCESSES
from pytest_pario.workloads.beffio.schedule import order, partition_seconds, shares, types_of, wanted_seconds


def test_shares_and_times() -> None:  # BEFF-22, BEFF-23
    assert (shares("2.0", "type0"), shares("2.0", "all"), shares("1.x", "type0")) == (150, 192, 192)
    assert partition_seconds("2.0", 1800, 3) == 600
    assert partition_seconds("1.x", 1800, 3) == 1800
    # T = 1800 s: the unit is 4 s, four units are 16 s; T = 2700 s with all rewrites: 4.6875 s
    assert partition_seconds("2.0", 1800, 3) / shares("2.0", "type0") == 4.0
    assert 4 * partition_seconds("2.0", 1800, 3) / shares("2.0", "type0") == 16.0
    assert partition_seconds("2.0", 2700, 3) / shares("2.0", "all") == 4.6875


def test_order_of_release_2() -> None:  # BEFF-02, BEFF-50
    steps = order([4, 2, 3], "2.0", "type0")
    pairs = list(dict.fromkeys((step.access, step.n) for step in steps))
    assert pairs == [(access, n) for access in ACCESSES for n in (2, 3, 4)]
    assert len(steps) == 3 * (43 + 9 + 43)
    written = [step.row.number for step in steps if (step.n, step.access) == (2, "write")]
    assert written == list(range(43))


def test_order_of_release_1() -> None:  # BEFF-50
    pairs = list(dict.fromkeys((step.n, step.access) for step in order([2, 1], "1.x", "type0")))
    assert pairs == [(n, access) for n in (1, 2) for access in ACCESSES]
    assert len(order([1], "1.x", "type0")) == 3 * 43


@pytest.mark.parametrize(
    ("definition", "rewrite", "kinds"), [("2.0", "type0", 1), ("2.0", "all", 5), ("1.x", "type0", 5)]
)
def test_rewrites(definition: str, rewrite: str, kinds: int) -> None:  # BEFF-51
    assert len(types_of("rewrite", definition, rewrite)) == kinds  # type: ignore[arg-type]
    assert len(types_of("write", definition, rewrite)) == 5  # type: ignore[arg-type]


def test_all_rewrites_are_scheduled_for_longer() -> None:  # BEFF-51
    assert (wanted_seconds("2.0", "type0"), wanted_seconds("2.0", "all")) == (1800, 2700)
    assert wanted_seconds("1.x", "all") == 900


def test_ids_are_readable_and_different() -> None:
    steps = order([2, 16], "2.0", "all")
    assert len({step.id for step in steps}) == len(steps)
    assert "n2-write-scatter-p06-32k+8" in {step.id for step in steps}
    files = [key for key, _ in itertools.groupby(steps, lambda step: step.file_key)]
    assert len(files) == len(set(files)) == 2 * 15


TABLE = {
    (1, 1): (1,), (2, 2): (1, 2), (3, 3): (1, 2), (4, 4): (2, 3), (5, 11): (2, 4), (12, 19): (2, 8), (20, 31): (4, 8),
    (32, 86): (4, 16), (87, 141): (4, 32), (142, 231): (8, 32), (232, 624): (8, 64), (625, 1023): (8, 128),
    (1024, 1680): (16, 128), (1681, 4522): (16, 256), (4523, 7419): (16, 512), (7420, 12173): (32, 512),
    (12174, 32767): (32, 1024), (32768, 53761): (32, 2048), (53762, 88204): (64, 2048), (88205, 237430): (64, 4096),
}  # fmt: skip


def test_partitions_one_by_one() -> None:  # BEFF-45..48
    for (first, last), small in TABLE.items():
        sizes = range(first, last + 1) if last <= 1680 else (first, last)
        for size in sizes:
            assert beff_partitions(size) == tuple(sorted({*small, size})), size
    assert beff_partitions(237431) == (64, 8192, 237431)
