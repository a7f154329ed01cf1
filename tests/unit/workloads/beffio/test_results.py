from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable

import pytest

from pytest_pario.model import Access
from pytest_pario.units import GiB, MiB
from pytest_pario.workloads.beffio.record import coordinates
from pytest_pario.workloads.beffio.results import ONE_JOB, PatternResult, Results, collect
from pytest_pario.workloads.beffio.schedule import Step, order
from pytest_pario.workloads.beffio.settings import Machine, Settings
from pytest_pario.workloads.beffio.table import ROWS, rows_of
from pytest_pario.workloads.beffio.validity import Criterion, criteria, is_valid
from pytest_pario.workloads.beffio.values import access_of, partition_of, system_of


def settings(**more: object) -> Settings:
    return Settings(1800.0, Machine(2, 2, 256 * MiB, GiB), (2,), **more)  # type: ignore[arg-type]


def result(number: int, access: Access = "write", n: int = 2, **more: object) -> PatternResult:
    row = ROWS[number]
    call = row.call_bytes(2 * MiB)
    first, last = rows_of(row.type)[0].number, rows_of(row.type)[-1].number
    given = {"open_s": 0.5 if number == first else None, "close_s": 0.25 if number == last else None, **more}
    seconds = (2.0, 1.5, 0.1, 0.1, 0.3, 0.01, 0.002)
    return PatternResult(
        n,
        access,
        number,
        1.0,
        row.chunk_bytes(2 * MiB),
        call,
        3,
        n * call * 3,
        *seconds,
        5,
        **given,  # type: ignore[arg-type]
    )


def whole(definition: str = "2.0") -> Results:
    return Results(tuple(result(s.row.number, s.access, s.n) for s in order([2], definition, "all")))  # type: ignore[arg-type]


def test_a_type_is_bytes_over_open_to_close() -> None:  # BEFF-29, BEFF-30
    found = whole().of_type(2, "write", 0)
    moved = sum(6 * row.call_bytes(2 * MiB) for row in rows_of(0))
    # 9 patterns of 2 s, open and close
    assert (found.moved_bytes, found.elapsed_s) == (moved, 9 * 2.0 + 0.75)
    assert found.value == pytest.approx(moved / 18.75 / 1e6)
    mean = sum(one.rate for one in found.patterns) / 9
    assert found.value != pytest.approx(mean)


@pytest.mark.parametrize("without", [0, 4, 8])
def test_a_type_without_a_pattern_has_no_value(without: int) -> None:
    kept = Results(tuple(one for one in whole().patterns if one.number != without))
    found = kept.of_type(2, "write", 0)
    assert found.value is None
    assert found.missing == (f"p{without:02d}",)
    assert ("write", 0) not in kept.type_values(2)
    assert ("write", 1) in kept.type_values(2)


def test_a_file_that_was_not_closed_has_no_value() -> None:
    opened = [dataclasses.replace(one, close_s=None) for one in whole().of_type(2, "read", 1).patterns]
    assert Results(tuple(opened)).of_type(2, "read", 1).missing == ("one close",)


def test_two_jobs_never_make_one_value() -> None:
    first, *rest = whole().of_type(2, "read", 1).patterns
    mixed = Results((dataclasses.replace(first, run="a"), *(dataclasses.replace(one, run="b") for one in rest)))
    assert mixed.of_type(2, "read", 1).missing == ("one job for all of it",)
    again = Results((first, *(dataclasses.replace(one, open_s=0.1) for one in rest)))
    assert again.of_type(2, "read", 1).missing == ("one open",)
    guessed = Results(tuple(dataclasses.replace(one, flags=("derived_incomplete",)) for one in whole().patterns))
    assert guessed.of_type(2, "read", 3).value is None


def test_plain_data_and_back() -> None:  # BEFF-34
    found = whole()
    told = json.loads(json.dumps([one.plain() for one in found.patterns]))
    assert collect(told) == found
    assert collect([*told, told[0]]).patterns[0] == found.patterns[0]


@pytest.mark.parametrize(("aside_s", "paused"), [(0.0, False), (0.2, False), (0.21, True)])
def test_a_pause_that_matters(aside_s: float, paused: bool) -> None:
    # a tenth of 2 s
    assert result(4, "read", aside_s=aside_s).is_paused is paused


def decided(call_s: float, decision_s: float, decisions: int, calls: int) -> PatternResult:
    times = {"last_call_s": call_s, "last_decision_s": decision_s, "io_s": calls * call_s}
    return dataclasses.replace(result(4), decisions=decisions, repetitions=calls, **times)  # type: ignore[arg-type]


def test_decisions_against_accesses() -> None:  # BEFF-25
    # 60 us against 250 us on 32 processes, as published
    published = decided(250e-6, 60e-6, 1000, 1000)
    assert published.decision_ratio == pytest.approx(0.24)
    assert published.breaks_overhead_rule("per_call")
    assert not decided(250e-6, 24e-6, 1000, 1000).breaks_overhead_rule("per_call")
    # a pattern without a share of time decides nothing, nor does a replay
    assert result(0).decision_ratio is result(0).decision_share is None
    assert dataclasses.replace(result(4), decisions=0).decision_ratio is None


def test_batches_spread_the_cost_of_decisions() -> None:  # BEFF-25, BEFF-26
    batches = decided(250e-6, 60e-6, 10, 1000)
    assert batches.decision_ratio == pytest.approx(0.24)
    assert batches.decision_share == pytest.approx(0.0024)
    assert not batches.breaks_overhead_rule("geometric")
    assert decided(3e-6, 840e-6, 12, 5000).breaks_overhead_rule("geometric")
    # one call only: its one decision is as dear as if it were decided call by call
    assert decided(250e-6, 60e-6, 1, 1).breaks_overhead_rule("geometric")


def test_repetitions_are_averaged_and_runs_are_not_mixed() -> None:  # BEFF-40
    slow, fast = result(4), dataclasses.replace(result(4), elapsed_s=0.5)
    # no best of several: all bytes over all seconds, and of a pattern that was measured twice the last one
    assert slow.rate == pytest.approx(slow.moved_bytes / 2.0 / 1e6)
    assert collect([fast.plain(), slow.plain()]).patterns == (slow,)
    assert collect([slow.plain(), fast.plain()]).patterns == (fast,)


def of_jobs(job: Callable[[PatternResult], str]) -> Results:
    return Results(tuple(dataclasses.replace(one, run=job(one)) for one in whole().patterns))


def test_values_come_from_one_job() -> None:  # BEFF-38, BEFF-40
    assert system_of(whole(), "2.0", [2]).partition == 2
    assert partition_of(whole(), "1.x", 2).complete
    assert access_of(whole(), "read", 2).complete
    by_access = of_jobs(lambda one: one.access)
    assert access_of(by_access, "read", 2).complete
    assert partition_of(by_access, "2.0", 2).missing == (ONE_JOB,)
    assert system_of(by_access, "2.0", [2]).missing == (f"n=2: {ONE_JOB}",)
    by_type = of_jobs(lambda one: one.row.kind)
    assert by_type.of_type(2, "write", 0).value is not None
    assert access_of(by_type, "write", 2).missing == (ONE_JOB,)
    both = Results((*whole().patterns, *(dataclasses.replace(one, n=1, run="other") for one in whole().patterns)))
    assert partition_of(both, "2.0", 1).complete
    assert system_of(both, "2.0", [1, 2]).missing == (ONE_JOB,)


def test_validity_of_release_2() -> None:  # BEFF-41, BEFF-42, BEFF-44
    found = criteria(settings(), whole(), 0)
    assert {one.name: one.reached for one in found} == {
        "complete": "reached",
        "time": "reached",
        "no limit": "reached",
        "standard": "reached",
        "shared pointers": "reached",
        "errors": "reached",
        "cache rule": "unknown",
        "caches": "reached",
        "file size": "not reached",
    }
    assert not is_valid(found)
    small_cache = settings(fs_cache_bytes=MiB)
    assert is_valid(criteria(small_cache, whole(), 0))
    assert not is_valid(criteria(settings(fs_cache_bytes=GiB), whole(), 0))
    # a part, or a run that was cut short, is never valid
    part = Results(whole().patterns[:50])
    assert not is_valid(criteria(small_cache, part, 0))
    cut = Results((*whole().patterns[1:], dataclasses.replace(whole().patterns[0], flags=("byte_limited",))))
    assert not is_valid(criteria(small_cache, cut, 0))
    assert not is_valid(criteria(small_cache, whole(), 1))
    assert not is_valid(criteria(dataclasses.replace(small_cache, noshared=True), whole(), 0))
    assert not is_valid(criteria(dataclasses.replace(small_cache, total_s=1799.0), whole(), 0))


def test_other_patterns_are_not_comparable() -> None:  # BEFF-08, BEFF-20, BEFF-41
    small_cache = settings(fs_cache_bytes=MiB)
    for more in ({"max_chunk": MiB}, {"segment_align": 4 * MiB}):
        found = criteria(dataclasses.replace(small_cache, **more), whole(), 0)  # type: ignore[arg-type]
        assert [one.name for one in found if one.reached == "not reached"] == ["standard", "file size"]
        assert not is_valid(found)
    assert is_valid(criteria(dataclasses.replace(small_cache, max_chunk=GiB), whole(), 0))


def test_all_rewrites_need_more_time() -> None:  # BEFF-41, BEFF-51
    short = settings(rewrite="all")
    assert criteria(short, whole(), 0)[1].reached == "not reached"
    assert "2700 s wanted" in criteria(short, whole(), 0)[1].told
    assert criteria(dataclasses.replace(short, total_s=2700.0), whole(), 0)[1].reached == "reached"


def named(name: str, given: Settings, results: Results) -> Criterion:
    return next(one for one in criteria(given, results, 0) if one.name == name)


def test_each_access_method_that_counts_must_outgrow_the_cache() -> None:  # BEFF-42
    # rewriting type 0 moves least of all, and enters the value
    written, rewritten = whole().moved_bytes(2, "write"), whole().moved_bytes(2, "rewrite", (0,))
    assert rewritten < written
    cache = rewritten // 20 + 1
    assert named("cache rule", settings(fs_cache_bytes=cache), whole()).reached == "not reached"
    assert "(rewrite, n=2)" in named("cache rule", settings(fs_cache_bytes=cache), whole()).told
    assert named("cache rule", settings(fs_cache_bytes=cache - 2), whole()).reached == "reached"
    # other rewrites do not count in release 2.0, but do in 1.x
    assert named("cache rule", settings(rewrite="all", fs_cache_bytes=cache), whole()).reached == "not reached"
    assert named("cache rule", settings(definition="1.x", fs_cache_bytes=cache), whole()).reached == "reached"
    unread = Results(tuple(one for one in whole().patterns if one.access != "read"))
    assert named("cache rule", settings(fs_cache_bytes=1), unread).reached == "not reached"


def flagged(flag: str) -> Results:
    return Results((dataclasses.replace(whole().patterns[-1], flags=(flag,)), *whole().patterns[:-1]))


def test_warm_caches_are_told() -> None:  # BEFF-41, BEFF-42
    small_cache = settings(fs_cache_bytes=MiB)
    assert not is_valid(criteria(small_cache, flagged("caches_cached"), 0))
    assert "1 patterns found their file in a cache" in named("caches", small_cache, flagged("caches_cached")).told


@pytest.mark.parametrize(
    ("flush", "flag", "told"),
    [
        (True, "caches_client-cold", "no page on clients; servers not flushed: the cache rule decides"),
        (True, "caches_unknown", "not seen before 1 patterns: the cache rule decides"),
        (False, "", "left as they were (beff_flush=no): the cache rule decides"),
    ],
)
def test_what_was_not_shown_to_be_cold_is_as_the_cache_rule_says(flush: bool, flag: str, told: str) -> None:
    # BEFF-41, BEFF-42: servers may hold what no client has
    results = flagged(flag) if flag else whole()
    for cache, reached in ((None, "unknown"), (MiB, "reached"), (GiB, "not reached")):
        found = named("caches", settings(fs_cache_bytes=cache, flush=flush), results)
        assert (found.reached, found.told) == (reached, told)
    assert named("caches", settings(), whole()).told == "empty before rewrite and read"


def test_validity_of_release_1() -> None:  # BEFF-41
    short, long = settings(definition="1.x"), dataclasses.replace(settings(definition="1.x"), total_s=899.0)
    assert criteria(short, whole(), 0)[1].reached == "reached"
    assert criteria(long, whole(), 0)[1].reached == "not reached"


def test_least_file_size() -> None:  # BEFF-43
    slow = Results(tuple(dataclasses.replace(one, elapsed_s=1e4) for one in whole().patterns))
    assert criteria(settings(), slow, 0)[-1].reached == "reached"
    assert criteria(settings(), Results(), 0)[-1].reached == "unknown"


def test_coordinates() -> None:  # BEFF-66
    step = Step(2, "write", ROWS[6])
    told = coordinates(step, result(6, file_bytes=12345), settings(dedicated="no"))
    assert told == {
        "contiguous_memory_bytes": MiB + 256,
        "contiguous_disk_bytes": 32776,
        "chunks_per_call": 32,
        "moved_bytes": 6 * (MiB + 256),
        "file_bytes": 12345,
        "distribution": "strided",
        "wellformed": False,
        "access": "write",
        "positioning": "individual pointer",
        "coordination": "collective",
        "synchronism": "blocking",
        "unique": False,
        "atomic": False,
        "dedicated": "no",
    }
    assert coordinates(Step(2, "read", ROWS[12]), result(12), settings())["positioning"] == "shared pointer"
