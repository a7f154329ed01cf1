from __future__ import annotations

import json
import math

import pytest

from pytest_pario.environment.facts import FACTS, KNOWN, fact_named
from pytest_pario.environment.fingerprint import Fingerprint, Json, Told, differences, mismatches


def fingerprint(**facts: Json) -> Fingerprint:
    return Fingerprint({name: Told(value, "test") for name, value in facts.items()})


def test_names_are_unique_and_meanings_are_sentences() -> None:
    assert len(KNOWN) == len(FACTS)
    for fact in FACTS:
        assert fact.meaning.endswith("."), fact
        assert fact.unit == ("B" if fact.name.endswith("_bytes") else ""), fact


def test_what_is_compared() -> None:
    assert {fact.name for fact in FACTS if fact.must_match} == {"machine", "ranks", "ranks_per_node", "filesystem_type"}


def test_an_unknown_fact_is_a_setting() -> None:
    assert fact_named("site.rack").role == "setting"
    assert not fact_named("site.rack").must_match


def test_json_round_trip_keeps_values_and_sources() -> None:
    made = fingerprint(ranks=4, mount_options=["rw", "sync"], gpfs_pools={"data": 3}, os=None, load_average=0.5)
    read = Fingerprint.from_json(json.loads(json.dumps(made.to_json())))
    assert read == made
    assert read.source("ranks") == "test"


def test_rows_of_another_shape_are_left_out() -> None:
    assert dict(Fingerprint.from_json({"ranks": 4, "nodes": {"value": 2}})) == {"nodes": 2}


def test_it_cannot_be_changed() -> None:
    made = fingerprint(mount_options=["rw"])
    options = made["mount_options"]
    assert isinstance(options, list)
    options.append("sync")
    assert made["mount_options"] == ["rw"]
    with pytest.raises(TypeError):
        made["ranks"] = 4  # type: ignore[index]


@pytest.mark.parametrize("value", [object(), {1, 2}, math.nan])
def test_only_plain_data(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        Fingerprint({"ranks": Told(value, "test")})  # type: ignore[arg-type]


def test_differences_in_the_order_of_the_table() -> None:
    before = fingerprint(kernel="6.1", ranks=4, free_bytes=10, lustre_version="2.15", **{"site.rack": 1})
    after = fingerprint(kernel="6.6", ranks=8, free_bytes=20, numpy="2.4", **{"site.rack": 2})
    # free space is a state; the version of Lustre and numpy are known on one side only
    assert differences(before, after) == [("ranks", 4, 8), ("kernel", "6.1", "6.6"), ("site.rack", 1, 2)]
    assert mismatches(before, after) == [("ranks", 4, 8)]


def test_differences_that_are_asked_for() -> None:
    before, after = fingerprint(free_bytes=10, numpy="2.3"), fingerprint(free_bytes=20)
    assert differences(before, after, roles=("state",)) == [("free_bytes", 10, 20)]
    assert differences(before, after, one_sided=True) == [("numpy", "2.3", None)]


def test_equal_fingerprints_do_not_differ() -> None:
    assert differences(fingerprint(ranks=4), fingerprint(ranks=4)) == []
