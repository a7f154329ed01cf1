from __future__ import annotations

from pytest_pario.environment.orangefs import collect
from tests.unit.environment.answers import Answers

VIEW = "pvfs2-viewdist -f /mnt/orange/data"


def test_distribution_of_a_file() -> None:
    told = collect(Answers("/mnt/orange/data", tools={VIEW: "pvfs2_viewdist"}))
    assert told["orangefs_distribution"].value == "simple_stripe"
    assert (told["stripe_unit_bytes"].value, told["stripe_factor"].value) == (131072, 4)


def test_other_distributions_have_no_unit() -> None:
    told = collect(Answers("/mnt/orange/data", tools={VIEW: "pvfs2_viewdist_varstrip"}))
    assert told["orangefs_distribution"].value == "varstrip_dist"
    assert not {"stripe_unit_bytes", "stripe_factor"} & set(told)


def test_what_was_set_for_a_directory() -> None:
    attributes = {
        "user.pvfs2.dist_name": b"simple_stripe\0",
        "user.pvfs2.dist_params": b"strip_size:65536\0",
        "user.pvfs2.num_dfiles": b"8",
    }
    told = collect(Answers("/mnt/orange/dir", attributes=attributes))
    assert (told["stripe_unit_bytes"].value, told["stripe_factor"].value) == (65536, 8)


def test_silent_without_tools_and_elsewhere() -> None:
    assert collect(Answers("/mnt/orange/dir")) == {}
    assert collect(Answers("/tmp", tools={"pvfs2-viewdist -f /tmp": "pvfs2_viewdist"})) == {}
