"""The rows of the performance classes with and without parameters of the user."""

from __future__ import annotations

from collections import Counter

import pytest

from pytest_pario.patterns import plan
from pytest_pario.units import MiB
from pytest_pario.workloads.consortium.class_rows import VOLUME, class_rows
from pytest_pario.workloads.parameters import Parameters, resolve
from pytest_pario.workloads.table import TABLE


def given(*pairs: str) -> Parameters:
    return resolve(TABLE, pairs)


@pytest.mark.parametrize("profile", VOLUME)
def test_one_row_of_each_class_is_concise(profile: str) -> None:  # CONS-01
    found = class_rows(profile, given())
    assert len(found) == len({row.name for row in found}) == (16 if profile == "quick" else 20)
    assert Counter(row.asked for row in found if row.is_concise) == {
        "sustained-write": 1,
        "cached-write": 1,
        "sustained-read": 1,
    }


@pytest.mark.parametrize("allocation", ["new", "preallocated"])
def test_allocation_is_a_parameter_of_sustained_writes(allocation: str) -> None:  # CONS-46
    found = class_rows("quick", given(f"allocation={allocation}"))
    writes = [row for row in found if row.asked == "sustained-write"]
    assert len(writes) == 4
    for row in writes:
        assert row.pattern is not None
        assert row.pattern.open.prealloc == (allocation == "preallocated")
        assert row.given.plain()["allocation"] == {"value": allocation, "origin": "command line"}
    others = [row for row in found if row.asked != "sustained-write"]
    assert len(others) == 8
    assert all(
        row.pattern and not row.pattern.open.prealloc and "allocation" not in row.given.plain() for row in others
    )


def test_a_header_comes_before_the_data() -> None:  # CONS-55
    for row in class_rows("quick", given("header_bytes=777")):
        assert row.pattern is not None
        table = plan(row.pattern, 2).ranks[0]
        assert (table.offsets[0], table.total_bytes) == (777, VOLUME["quick"])
        assert row.pattern.open.presize != row.pattern.open.prealloc
        assert row.given.plain()["header_bytes"] == {"value": 777, "origin": "command line"}


def test_the_size_is_in_the_name() -> None:  # CONS-50
    assert all("-1MiB-" in row.name or "-32KiB-" in row.name for row in class_rows("quick", given()))
    found = class_rows("quick", given("transfer_size=8K", "block_size=2M"))
    assert len(found) == 4 * 3
    assert all("-8KiB-" in row.name for row in found)
    for row in found:
        assert row.pattern is not None
        assert plan(row.pattern, 2).ranks[1].total_bytes == 2 * MiB
        assert plan(row.pattern, 2).ranks[1].call_count == 256
    assert all("-2MiB-" in row.name for row in class_rows("quick", given("transfer_size=0", "block_size=2M")))


def test_the_only_difference_of_a_cached_write_is_the_sync() -> None:  # CONS-49
    by_name = {row.name: row.pattern for row in class_rows("quick", given())}
    cached, sustained = by_name["cached-write-1MiB-ind-new"], by_name["sustained-write-1MiB-ind-new"]
    assert cached is not None
    assert sustained is not None
    assert (cached.sync, sustained.sync) == ("none", "end")
    assert (cached.layout, cached.open, cached.coll) == (sustained.layout, sustained.open, sustained.coll)
