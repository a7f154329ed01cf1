from __future__ import annotations

import dataclasses
import json

import pytest

from pytest_pario.model import Access
from pytest_pario.units import GiB, MiB
from pytest_pario.workloads.beffio.record import coordinates
from pytest_pario.workloads.beffio.results import PatternResult, Results, collect
from pytest_pario.workloads.beffio.schedule import Step, order
from pytest_pario.workloads.beffio.settings import Machine, Settings
from pytest_pario.workloads.beffio.table import ROWS, rows_of
from pytest_pario.workloads.beffio.validity import criteria, is_valid


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


def test_decisions_against_accesses() -> None:  # BEFF-25
    assert result(4).decision_ratio == pytest.approx(0.2)
    assert dataclasses.replace(result(0), decisions=1).decision_ratio is None


def test_validity_of_release_2() -> None:  # BEFF-41, BEFF-42, BEFF-44
    found = criteria(settings(), whole(), 0)
    assert {one.name: one.reached for one in found} == {
        "complete": "reached",
        "time": "reached",
        "no limit": "reached",
        "shared pointers": "reached",
        "errors": "reached",
        "cache rule": "unknown",
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
    told = coordinates(step, result(6), settings(dedicated="no"))
    assert told == {
        "contiguous_memory_bytes": MiB + 256,
        "contiguous_disk_bytes": 32776,
        "chunks_per_call": 32,
        "moved_bytes": 6 * (MiB + 256),
        "file_bytes": 6 * (MiB + 256),
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
