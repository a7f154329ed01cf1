from __future__ import annotations

from math import floor, sqrt

import pytest

from pytest_pario.model import Access
from pytest_pario.workloads.beffio.averages import (
    ACCESSES,
    Average,
    access_value,
    partition_value,
    system_value,
    weighted_by_units,
    write_value_2,
)

# MB/s of types 0 to 4 and the printed weighted average of three hint sets on 64 processes
PUBLISHED: dict[tuple[Access, str], tuple[tuple[int, ...], int]] = {
    ("write", "baseline"): ((197, 188, 104, 338, 13), 173),
    ("write", "second"): ((284, 277, 435, 541, 524), 391),
    ("write", "third"): ((397, 282, 423, 533, 502), 422),
    ("rewrite", "baseline"): ((190, 172, 83, 186, 11), 139),
    ("rewrite", "second"): ((197, 244, 241, 228, 431), 256),
    ("rewrite", "third"): ((449, 265, 234, 297, 297), 332),
    ("read", "baseline"): ((122, 130, 96, 408, 11), 148),
    ("read", "second"): ((483, 346, 609, 586, 590), 516),
    ("read", "third"): ((441, 282, 579, 554, 544), 473),
}
AVERAGES = {
    "baseline": ((157, 155, 95, 335, 12), 152),
    "second": ((362, 303, 473, 485, 534), 420),
    "third": ((432, 278, 454, 485, 472), 425),
}
RELEASE_2 = {"baseline": (159.5, 159.484), "second": (440.8, 440.739), "third": (451.7, 451.751)}
RELEASE_1 = {"baseline": 151.958, "second": 419.875, "third": 425.292}
SETS = tuple(AVERAGES)


def types_of(name: str) -> dict[tuple[Access, int], float]:
    return {
        (access, kind): float(value)
        for (access, one), (values, _) in PUBLISHED.items()
        if one == name
        for kind, value in enumerate(values)
    }


def value(average: Average) -> float:
    assert average.value is not None
    return average.value


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("access", ACCESSES)
def test_weighted_averages_of_the_published_table(access: Access, name: str) -> None:  # BEFF-35
    computed = value(access_value(access, types_of(name)))
    printed = PUBLISHED[access, name][1]
    # input rounded by 0.5, output by 0.5
    assert abs(computed - printed) <= 1.0
    assert (floor(computed + 0.5) == printed) is ((access, name) != ("read", "third"))


@pytest.mark.parametrize("name", SETS)
def test_average_rows(name: str) -> None:  # BEFF-36
    types, (printed, corner) = types_of(name), AVERAGES[name]
    cells = [0.25 * types["write", k] + 0.25 * types["rewrite", k] + 0.5 * types["read", k] for k in range(5)]
    assert all(abs(cell - want) <= 1.0 for cell, want in zip(cells, printed, strict=True))
    wrong = [k for k in range(5) if floor(cells[k] + 0.5) != printed[k]]
    assert wrong == {"baseline": [0], "second": [2], "third": []}[name]
    computed = value(partition_value("1.x", types))
    assert computed == pytest.approx(RELEASE_1[name], abs=5e-4)
    assert floor(computed + 0.5) == corner


@pytest.mark.parametrize("name", SETS)
def test_release_2_of_the_published_table(name: str) -> None:  # BEFF-37, BEFF-38
    types, (printed, exact) = types_of(name), RELEASE_2[name]
    write, read = value(write_value_2(types)), value(access_value("read", types))
    computed = value(partition_value("2.0", types))
    assert computed == pytest.approx(exact, abs=6e-4)
    assert computed == pytest.approx(sqrt(write * read))
    low, high = sqrt((write - 0.5) * (read - 0.5)) - 0.05, sqrt((write + 0.5) * (read + 0.5)) + 0.05
    assert low <= printed <= high


def test_the_arithmetic_mean_is_not_it() -> None:  # BEFF-37: negative control
    types = types_of("second")
    mean = (value(write_value_2(types)) + value(access_value("read", types))) / 2
    assert mean == pytest.approx(446.25)
    assert abs(mean - RELEASE_2["second"][0]) > 5


def test_claims_of_the_text() -> None:
    second, baseline = types_of("second"), types_of("baseline")
    assert min(second.values()) >= 197
    assert sum(one >= 197 for one in baseline.values()) == 3
    assert all(second[key] >= baseline[key] for key in second)


def test_a_real_run_of_release_2() -> None:  # BEFF-21, BEFF-37
    write = (156.878, 148.701, 185.987, 159.704, 117.600)
    read = (1238.420, 1427.840, 1360.834, 788.683, 277.614)
    types: dict[tuple[Access, int], float] = {("write", k): one for k, one in enumerate(write)}
    types |= {("read", k): one for k, one in enumerate(read)} | {("rewrite", 0): 662.579}
    assert value(write_value_2(types)) == pytest.approx(238.5748, abs=1e-4)
    assert value(access_value("read", types)) == pytest.approx(1055.3018, abs=1e-4)
    assert round(value(partition_value("2.0", types)), 3) == 501.765
    # more rewrites never count
    assert partition_value("2.0", types | {("rewrite", 3): 9e9}) == partition_value("2.0", types)


def test_a_tiny_part_takes_the_geometric_mean_down() -> None:  # BEFF-37
    types: dict[tuple[Access, int], float] = {(a, k): 1000.0 for a in ACCESSES for k in range(5)}
    tiny = types | {("read", k): 1e-6 for k in range(5)}
    assert value(partition_value("2.0", tiny)) < 0.1
    assert value(partition_value("1.x", tiny)) >= 500 - 1e-6


def test_incomplete_is_never_a_number() -> None:
    types = types_of("third")
    del types["read", 3]
    for definition in ("1.x", "2.0"):
        found = partition_value(definition, types)
        assert found.value is None
        assert not found.complete
        assert found.missing == ("read segmented",)
    del types["rewrite", 0]
    assert "rewrite scatter" in partition_value("2.0", types).missing
    assert access_value("write", types).complete


def test_the_system_is_the_best_partition() -> None:  # BEFF-38
    assert system_value({2: Average(5.0), 4: Average(7.0), 8: Average(6.0)}).partition == 4
    missing = system_value({2: Average(5.0), 4: Average(None, ("read shared",))})
    assert (missing.value, missing.missing) == (None, ("n=4: read shared",))
    assert system_value({}).value is None


def test_mean_by_units_is_for_information() -> None:  # BEFF-39
    assert weighted_by_units([(0, 1e9), (1, 10.0), (3, 20.0)]) == 17.5
    assert weighted_by_units([(0, 5.0)]) is None
