from __future__ import annotations

import math

import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.patterns.check import is_ascending, is_tiling, shares_block
from pytest_pario.patterns.planning import plan, views
from pytest_pario.patterns.recipe import Hindexed, Resized
from pytest_pario.patterns.scattered import Scattered
from pytest_pario.patterns.segmented import Segmented
from pytest_pario.units import GiB, KiB, MiB
from pytest_pario.workloads.gpfs.replications import sum_up
from pytest_pario.workloads.gpfs.rows import (
    FILE_BLOCK,
    SCALES,
    access_range,
    all_rows,
    contiguous,
    discontiguous,
    partitioning,
    random,
    strided,
)

FULL, QUICK = SCALES["full"], SCALES["quick"]


@pytest.mark.parametrize("profile", SCALES)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_rows_can_be_planned(profile: str, n: int) -> None:  # GPFS-01, GPFS-07: any number of tasks, as much each
    rows = all_rows(profile, n)
    names = [row.pattern.name for row in rows]
    assert len(set(names)) == len(names)
    for row in rows:
        assert row.pattern.metric == "job_time"  # GPFS-02
        if profile == "quick":
            found = plan(row.pattern, n)
            assert len({found.ranks[rank].total_bytes for rank in range(n)}) == 1
            assert all(is_ascending(found.ranks[rank]) for rank in range(n))  # GPFS-16


def test_contiguous() -> None:  # GPFS-08, GPFS-09, GPFS-10, GPFS-06
    rows = list(contiguous(FULL))
    assert [(row.pattern.coll, row.pattern.api) for row in rows] == [
        (False, "mpiio"),
        (True, "mpiio"),
        (False, "posix"),
    ]
    for row in rows:
        assert row.pattern.layout == Segmented(333 * MiB, (333 * MiB,))
        assert row.pattern.pointer == "explicit"
        assert row.pattern.open.unique
        assert row.pattern.open.existing
        assert row.summary == "maximum"  # GPFS-05
    assert rows[0].pattern.hints.on_open == {"IBM_largeblock_io": "true"}


def test_discontiguous() -> None:  # GPFS-12..17
    rows = {row.pattern.name: row for row in discontiguous(FULL, 4, seed=1)}
    layout = rows["gpfs-discontiguous-coll"].pattern.layout
    assert isinstance(layout, Scattered)
    assert (layout.block, layout.total, layout.region) == (1024, 4 * 340992, 2 * GiB)
    assert rows["gpfs-discontiguous-coll"].types_inside
    assert rows["gpfs-discontiguous-posix"].single
    assert rows["gpfs-discontiguous-prealloc-coll"].pattern.open.prealloc
    # regions of 2 GiB for 4 to 128 tasks
    counts = [math.ceil(n * 340992 * 1024 / (2 * GiB)) for n in (4, 8, 16, 32, 64, 128)]
    assert counts == [1, 2, 3, 6, 11, 21]
    small = next(discontiguous(QUICK, 3, seed=1, region=KiB * 1024)).pattern
    found = plan(small, 3)
    assert is_tiling([found.ranks[rank] for rank in range(3)])
    shown = views(found, 0)
    assert [view.displacement for view in shown] == [0, MiB, 2 * MiB, 3 * MiB, 4 * MiB, 5 * MiB]
    for view in shown:
        assert isinstance(view.filetype, Resized)
        assert isinstance(view.filetype.of, Hindexed)


def test_partitioning() -> None:  # GPFS-19..23
    rows = {row.pattern.name: row for row in partitioning(FULL, 2, seed=1)}
    on, off = rows["gpfs-partitioning-on-indep"], rows["gpfs-partitioning-off-indep"]
    assert (on.pattern.open.unique, off.pattern.open.unique) == (True, False)
    assert on.pattern.layout == off.pattern.layout
    assert on.summary == "mean"
    found = plan(on.pattern, 2).ranks[0]
    assert (found.call_count, len(found.offsets)) == (1000, 10000)
    assert on.pattern.hints.on_open == {"IBM_largeblock_io": "false", "IBM_io_buffer_size": "16MB"}
    assert not on.pattern.coll
    assert on.pattern.open.background is not None  # what nobody writes must stay


def test_access_range() -> None:  # GPFS-24..29
    rows = list(access_range(FULL, 2, seed=1))
    told = {(dict(row.parameters)["sub_blocks"], dict(row.parameters)["max_acc"]) for row in rows if row.parameters}
    assert told == {(k, a) for k in (1, 2, 8, 16) for a in (0, 1, 2, 4, 8)}
    for row in rows:
        assert row.summary == "mean"
        hints = row.pattern.hints.on_open
        assert ("max_acc" in hints) == bool(dict(row.parameters).get("max_acc"))
    found = plan(rows[0].pattern, 2).ranks[1]
    assert len({int(offset) // FILE_BLOCK for offset in found.offsets}) == 100


def test_strided() -> None:  # GPFS-30..32
    rows = {row.pattern.name: row.pattern for row in strided(FULL, 8)}
    tiled, sparse = (plan(rows[name], 8) for name in ("gpfs-tiled-12k-indep", "gpfs-sparse-12k-indep"))
    assert is_tiling([tiled.ranks[rank] for rank in range(8)])
    assert int(sparse.ranks[1].offsets[1] - sparse.ranks[1].offsets[0]) == 288 * KiB
    assert not shares_block(sparse.ranks[0], FILE_BLOCK)
    assert len(list(strided(FULL, 25))) == 2  # the sparse test has room for 24 tasks
    identical = plan(next(iter(strided(FULL, 24))).pattern, 24).ranks[5].offsets[:3]
    assert identical.tolist() == [5 * 12 * KiB + k * 288 * KiB for k in range(3)]


def test_random() -> None:  # GPFS-33
    rows = {row.pattern.name: row for row in random(FULL, 2, seed=1)}
    sizes = ["4KiB", "8KiB", "16KiB", "32KiB", "64KiB", "128KiB", "256KiB", "512KiB"]
    for size in sizes:
        assert rows[f"gpfs-random-{size}-indep"].phases == ("write", "read")
        assert rows[f"gpfs-random-{size}-range-indep"].pattern.hints.on_open == {"max_acc": "2"}
        both = rows[f"gpfs-random-{size}-range-unique-indep"]
        assert (both.phases, both.pattern.open.unique) == (("write",), True)
    assert len(rows) == 4 * len(sizes)


RATES = [100.0, 102.0, 98.0, 101.0, 99.0, 103.0, 97.0]


def test_replications() -> None:  # GPFS-05, GPFS-44
    highest, mean = sum_up(RATES, "maximum"), sum_up(RATES, "mean")
    assert (highest.figure, mean.figure) == (103.0, 100.0)
    assert highest.sigma == pytest.approx(2.160246899, abs=1e-9)
    assert sum_up([5.0], "maximum").sigma is None


def test_outliers_are_dropped_only_when_asked() -> None:  # GPFS-45
    found = sum_up([*RATES, 3.0], "mean", drop_lowest=1)
    assert found.kept == tuple(RATES)
    assert found.plain()["dropped_mb_s"] == [3.0]
    assert sum_up([*RATES, 3.0], "mean").dropped == ()
    with pytest.raises(ParameterError, match="one of the 2 replications"):
        sum_up([1.0, 2.0], "mean", drop_lowest=2)
