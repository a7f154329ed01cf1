"""Every requirement of the groups that are done is cited by a test, or its absence is explained."""

from __future__ import annotations

from tests.requirements import GROUPS, cited_in, open_ids

DONE = ("GEN", "BEFF", "CONS", "GPFS", "MODEL", "ERR", "RES", "SIM")


def test_nothing_is_open() -> None:
    assert open_ids(DONE) == []


def test_ranges_are_cited_whole() -> None:
    assert cited_in("see BEFF-13..15 and GEN-2") == {"BEFF-13", "BEFF-14", "BEFF-15", "GEN-02"}
    assert sum(GROUPS.values()) == 326
