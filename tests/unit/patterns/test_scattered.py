from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_pario.errors import ParameterError
from pytest_pario.model import Pattern
from pytest_pario.patterns import Scattered, check, plan, scaled, views
from pytest_pario.units import GiB, KiB, MiB


def test_blocks_of_a_task_are_a_whole_number() -> None:
    # GPFS-12: 333 MB per task are 340 992 blocks, only with MB = 2^20
    assert 333 * MiB == 340_992 * KiB
    assert 333 * 10**6 % KiB


@pytest.mark.parametrize(("n", "regions"), [(4, 1), (8, 2), (16, 3), (32, 6), (64, 11), (128, 21)])
def test_regions(n: int, regions: int) -> None:
    # GPFS-15, with everything 256 times smaller
    layout = scaled("scattered", block=1024, total="1332*n", region=2 * GiB // 256)
    table = plan(Pattern("gpfs.disc", layout), n).ranks[n - 1]
    assert table.call_count == regions


def test_regions_in_full_size() -> None:
    # GPFS-15
    layout = Scattered(1024, 340_992 * 8, region=2 * GiB)
    made = plan(Pattern("gpfs.disc", layout, coll=True), 8)
    table = made.ranks[3]
    assert table.call_count == 2
    assert len(table.offsets) == 340_992
    assert (table.offsets[: table.bounds[1]] < 2 * GiB).all()
    assert (table.offsets[table.bounds[1] :] >= 2 * GiB).all()
    assert check.is_ascending(table)


def test_a_region_without_own_blocks_is_an_empty_call() -> None:
    # GPFS-15
    made = plan(Pattern("disc", Scattered(8, 8, seed=3, region=16)), 4)
    assert {table.call_count for table in made.ranks} == {4}
    assert any(0 in table.call_bytes for table in made.ranks)


def test_partitioning_benchmark() -> None:
    # GPFS-19..22: 10 blocks of 8 KiB in each call, half of the blocks of the file
    layout = scaled("scattered", block=8 * KiB, total="20000*n", per_call=10, fraction=0.5)
    made = plan(Pattern("gpfs.part", layout), 4)
    table = made.ranks[2]
    assert table.call_count == 1000
    assert set(table.call_bytes.tolist()) == {80 * KiB}
    assert check.find_overlap(made.ranks) is None
    assert len(views(made, 2)) == 1000
    # calls are scattered, not in the order of the file
    assert (np.diff(table.first_offsets) < 0).any()


@pytest.mark.parametrize("k", [1, 2, 8, 16])
def test_multiple_access_range(k: int) -> None:
    # GPFS-24, GPFS-25, GPFS-29: sub-blocks of 4 KiB, aligned and ascending in blocks of 256 KiB
    layout = scaled("scattered", block=256 * KiB, total="100*n", sub=(k, 4 * KiB))
    made = plan(Pattern("gpfs.mar", layout), 4)
    table = made.ranks[1]
    assert len(table.offsets) == 100 * k
    assert check.count_unaligned(table, 4 * KiB) == 0
    assert check.is_ascending(table)
    assert np.unique(table.offsets // (256 * KiB), return_counts=True)[1].tolist() == [k] * 100


def test_every_block_has_the_same_sub_blocks_whoever_has_it() -> None:
    # OQ-8: seeded by (seed, block)
    two, three = (plan(Pattern("m", Scattered(64, 12, 5, (3, 8))), n) for n in (2, 3))
    assert sorted(np.concatenate([t.offsets for t in two.ranks])) == sorted(
        np.concatenate([t.offsets for t in three.ranks])
    )


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1 << 40))
def test_sub_blocks_are_spread_evenly(seed: int) -> None:
    table = Scattered(16, 2000, seed, (1, 1)).calls(0, 1)
    counts = np.bincount(table.offsets % 16, minlength=16)
    assert counts.min() > 60
    assert counts.max() < 200


def test_the_deal_depends_on_the_seed_only() -> None:
    # GEN-10
    again = [Scattered(8, 100, seed).calls(1, 4).offsets.tolist() for seed in (1, 2, 1)]
    assert again[0] == again[2] != again[1]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Scattered(8, 10).at(4), r"scattered\.total = 10.*now 10 in all, nearest is 8"),  # GPFS-17
        (lambda: Scattered(8, 10, region=12), r"scattered\.region = 12"),  # GPFS-15
        (lambda: Scattered(8, 10, sub=(3, 4)), r"scattered\.sub"),
        (lambda: Scattered(8, 10, sub=(1, 3)), r"scattered\.sub"),
        (lambda: Scattered(8, 10, region=8, per_call=1), r"scattered\.per_call"),
        (lambda: Scattered(8, 10, fraction=0), r"scattered\.fraction"),
        (lambda: Scattered(8, 10, fraction=0.01).at(1), r"scattered\.total"),
    ],
)
def test_impossible_parameters_are_named(make: object, text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        make()  # type: ignore[operator]
