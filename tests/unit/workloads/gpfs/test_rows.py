from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.patterns.check import is_ascending, is_tiling, shares_block
from pytest_pario.patterns.planning import plan, views
from pytest_pario.patterns.recipe import Hindexed, Resized
from pytest_pario.patterns.scattered import Scattered
from pytest_pario.patterns.segmented import Segmented
from pytest_pario.report.gpfs import Figure, gpfs_lines
from pytest_pario.units import GiB, KiB, MiB
from pytest_pario.workloads.gpfs.parameters import Choices, choose
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
    task_counts,
    told_of,
)
from pytest_pario.workloads.parameters import resolve
from pytest_pario.workloads.table import TABLE

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
    opened = rows["gpfs-discontiguous-prealloc-coll"].pattern.open
    assert (opened.prealloc, opened.prealloc_by) == (True, "library")  # GPFS-13: MPI_File_preallocate
    # regions of 2 GiB for 4 to 128 tasks
    counts = [math.ceil(n * 340992 * 1024 / (2 * GiB)) for n in (4, 8, 16, 32, 64, 128)]
    assert counts == [1, 2, 3, 6, 11, 21]
    small = next(discontiguous(QUICK, 3, 1, Choices(region=1 * MiB))).pattern
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


def chosen(*words: str, **environment: str) -> Choices:
    return choose(resolve(TABLE, words, environment))


def test_parameters_shape_the_rows() -> None:  # GPFS-04, GPFS-15, GPFS-22
    assert chosen() == Choices()
    asked = chosen("gpfs_region=1M", "gpfs_blocks_per_op=5", "gpfs_fill=25", "gpfs_prealloc=1")
    rows = {row.pattern.name: row for row in all_rows("quick", 2, choices=asked)}
    discontiguous_layout = rows["gpfs-discontiguous-coll"].pattern.layout
    assert isinstance(discontiguous_layout, Scattered)
    assert discontiguous_layout.region == 1 * MiB
    assert rows["gpfs-discontiguous-coll"].pattern.open.prealloc
    assert "gpfs-discontiguous-prealloc-coll" not in rows
    layout = rows["gpfs-partitioning-on-indep"].pattern.layout
    assert isinstance(layout, Scattered)
    assert (layout.per_call, layout.fraction, layout.total) == (5, 0.25, 320)
    by = chosen("gpfs_prealloc=1", "gpfs_prealloc_by=filesystem")
    assert {row.pattern.open.prealloc_by for row in discontiguous(QUICK, 2, 1, by)} == {"filesystem"}
    assert not any(row.pattern.open.prealloc for row in all_rows("quick", 2, choices=chosen("gpfs_prealloc=0")))
    with pytest.raises(ParameterError, match="multiple of the block"):
        all_rows("quick", 2, choices=chosen("gpfs_region=1025"))


@pytest.mark.parametrize("asked", [chosen("max_acc=4"), chosen("hint:max_acc=4"), chosen(MAX_ACC="4")])
def test_max_acc(asked: Choices) -> None:  # GPFS-26: by parameter, as a hint, by environment
    rows = [row for row in all_rows("quick", 2, choices=asked) if "max_acc" in dict(row.parameters)]
    assert rows
    for row in rows:
        assert told_of(row, asked.hints)["max_acc"] == 4
        assert {**asked.hints, **row.pattern.hints.on_open}["max_acc"] == "4"
        assert "acc0" not in row.pattern.name


def test_hints_of_the_user_win_over_those_of_the_rows() -> None:  # GPFS-20
    asked = chosen("hint:IBM_largeblock_io=true")
    rows = {row.pattern.name: row for row in all_rows("quick", 2, choices=asked)}
    on = rows["gpfs-partitioning-on-indep"]
    assert on.pattern.hints.on_open == {"IBM_io_buffer_size": "16MB"}
    told = told_of(on, asked.hints)
    assert (told["switch"], told["partitioning"]) == ("on", "off")
    assert told["ignored"] == "the switch of partitioning is ignored with IBM_largeblock_io=true"
    standard = {row.pattern.name: told_of(row, {}) for row in all_rows("quick", 2)}
    assert standard["gpfs-partitioning-on-indep"]["partitioning"] == "on"
    assert standard["gpfs-partitioning-off-indep"]["partitioning"] == "off"
    assert "ignored" not in standard["gpfs-partitioning-on-indep"]


@pytest.mark.parametrize("environment", [{"IBM_largeblock_io": "true"}, {"IBM_LARGEBLOCK_IO": "true"}])
def test_every_variable_acts_or_is_told_as_dropped(environment: dict[str, str]) -> None:  # GPFS-04
    asked = chosen(**environment, IBM_io_buffer_size="8MB", MAX_ACC="2", GPFS_PREALLOC="1", GPFS_PARTITIONING="1")
    assert asked.hints == {"IBM_largeblock_io": "true", "IBM_io_buffer_size": "8MB", "max_acc": "2"}
    rows = {row.pattern.name: row for row in all_rows("quick", 2, choices=asked)}
    assert all(row.pattern.open.prealloc for name, row in rows.items() if "discontiguous" in name)
    assert "gpfs-partitioning-off-indep" not in rows
    off = all_rows("quick", 2, choices=chosen(GPFS_PARTITIONING="0"))
    assert "gpfs-partitioning-on-indep" not in {row.pattern.name for row in off}
    on, ranged = rows["gpfs-partitioning-on-indep"], rows["gpfs-range-2x4k-acc2-indep"]
    assert not set(asked.hints) & {*on.pattern.hints.on_open, *ranged.pattern.hints.on_open}
    assert told_of(on, asked.hints, ["IBM_largeblock_io", "other"])["dropped_hints"] == ["IBM_largeblock_io"]
    assert "dropped_hints" not in told_of(ranged, asked.hints)
    figures = [figure("on", 30.0, switch="on", dropped_hints=["IBM_x"]), figure("off", 20.0, switch="off")]
    assert gpfs_lines(figures)[-1].endswith("on / off 1.50 by UNIQUE_OPEN alone, the library dropped IBM_x")


def test_numbers_of_tasks() -> None:  # GPFS-07, GEN-17
    assert task_counts("quick", 6) == [6]
    assert task_counts("nightly", 6) == [1, 2, 4, 6]
    assert task_counts("full", 8) == [1, 2, 4, 8]
    assert task_counts("full", 1) == [1]


def test_every_row_has_its_posix_version() -> None:  # GPFS-06
    rows = all_rows("full", 2)
    posix = {row.like: row for row in rows if row.way == "posix"}
    for row in rows:
        assert posix[row.like].pattern.layout == row.pattern.layout


def figure(name: str, rate: float, phase: str = "write", ranks: int = 2, **told: object) -> Figure:
    return Figure(name, "partitioning", phase, ranks, {**sum_up([rate, rate], "mean").plain(), **told})


def test_the_results_of_a_run() -> None:  # GPFS-05, GPFS-06, GPFS-21, GPFS-45
    figures = [
        figure("on", 30.0, switch="on", way="indep"),
        figure("off", 20.0, switch="off", way="indep"),
        figure("posix", 10.0, way="posix", flags=["single_replication"], dropped_mb_s=[3.25], sigma_mb_s=None),
        figure("on-read", 7.0, "read", switch="on", way="indep"),
    ]
    text = gpfs_lines(figures)
    assert text[1].split() == ["on", "2", "30.0", "mean", "0.0", "2", "3.00"]
    assert text[2].split()[-1] == "2.00"
    assert text[3].split() == ["posix", "2", "10.0", "mean", "-", "2", "single_replication;", "dropped", "3.2"]
    assert text[4].split()[-1] == "2"  # nothing to compare with
    assert text[5:] == ["partitioning, write, 2 ranks: on / off 1.50"]
    ignored = gpfs_lines([figure("on", 30.0, switch="on", ignored="so it is"), figures[1]])
    assert ignored[-1] == "partitioning, write, 2 ranks: so it is"


def test_a_million_blocks_are_planned_and_become_datatypes() -> None:  # GPFS-14, GPFS-16
    """The largest of the discontiguous benchmarks: a region's blocks as one indexed type, in order, none lost."""
    scale = dataclasses.replace(FULL, blocks=1_000_000)
    pattern = next(discontiguous(scale, 4, seed=1)).pattern
    work = plan(pattern, 4)
    table, shown = work.ranks[3], views(work, 3)
    assert len(table.offsets) == 1_000_000
    assert len(shown) == math.ceil(4_000_000 * 1024 / (2 * GiB))
    places = []
    for view in shown:
        assert isinstance(view.filetype, Resized)
        assert isinstance(view.filetype.of, Hindexed)
        places.append(view.filetype.of.displacements + view.displacement)
    assert np.array_equal(np.concatenate(places), table.offsets)
