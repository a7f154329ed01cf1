"""The suites as tables: what the Consortium asks of a set of tests is true of the rows (CONS-01..06, CONS-16)."""

from __future__ import annotations

from collections import defaultdict

import pytest

from pytest_pario.model import Pattern
from pytest_pario.patterns import plan
from pytest_pario.units import MiB
from suites import test_consortium_patterns as patterns

ROOT_SUITES = ("test_consortium_patterns", "test_consortium_classes", "test_consortium_files")


@pytest.mark.parametrize("profile", ["quick", "nightly", "full"])
def test_every_kind_exists_in_every_way(profile: str) -> None:
    rows = patterns.rows(profile)
    ways: dict[str, set[tuple[str, str, bool]]] = defaultdict(set)
    for row in rows:
        ways[row.layout.name].add((row.api, row.pointer, row.coll))
    assert set(ways) == {"segmented", "strided", "random_sizes"}
    for found in ways.values():
        # CONS-16: collective and independent, view and explicit; CONS-03: MPI-IO and POSIX
        assert {("mpiio", pointer, coll) for pointer in ("explicit", "individual") for coll in (True, False)} <= found
        assert ("posix", "explicit", False) in found


def test_rows_are_small_tests_of_one_thing_each() -> None:  # CONS-04
    rows = patterns.rows("quick")
    assert len({row.id for row in rows}) == len({row.name for row in rows}) == len(rows)
    for row in rows:
        bytes_of_a_rank = plan(row, 4).ranks[0].total_bytes
        assert bytes_of_a_rank <= 16 * MiB


def test_regions_of_the_consortium_are_covered() -> None:  # CONS-05, CONS-06
    from suites import test_consortium_classes as classes
    from suites import test_consortium_files as files

    assert hasattr(files, "test_small_files")
    assert any(name.startswith("test_") and "interactive" in name for name in vars(files))
    assert hasattr(classes, "test_tile_io")  # derived datatypes
    assert hasattr(classes, "test_clients")  # CONS-09


def test_there_is_no_score() -> None:  # CONS-02: rates of tests, never one number for a system
    from pytest_pario.report import bandwidth

    lines = bandwidth.format_rows([bandwidth.BandwidthRow("a", 2, (1.0, 2.0)), bandwidth.BandwidthRow("b", 2, (3.0,))])
    assert len(lines) == 1 + 2


def test_rows_speak_one_language() -> None:  # CONS-08: rows are plain data that other runs can be merged with
    from pytest_pario.patterns import pattern_from_json, to_json

    for row in patterns.rows("quick"):
        again = pattern_from_json(to_json(row))
        assert isinstance(again, Pattern)
        assert again.id == row.id
