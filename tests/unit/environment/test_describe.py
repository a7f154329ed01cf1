from __future__ import annotations

from pathlib import Path

from pytest_pario.environment.collectors import collect_all, collect_from
from pytest_pario.environment.fingerprint import Difference
from pytest_pario.report.fingerprint import describe, describe_differences
from tests.unit.environment.answers import Answers


def test_groups_units_and_words() -> None:
    tools = {"lfs getstripe -d /scratch/bench": "lfs_getstripe_dir"}
    made = collect_from(Answers("/scratch/bench", tools=tools, hostnames=["n1"] * 4), {"machine": "alps", "rack": 7})
    lines = describe(made)
    assert lines[0].startswith("run          machine alps; ranks 4; ranks per node 4;")
    assert "striping     unit 1 MiB; factor 4; pattern raid0; pool flash" in lines
    assert "site         rack 7" in lines


def test_one_screen(tmp_path: Path) -> None:
    made = collect_all(tmp_path, hostnames=[f"node{k:04}" for k in range(2000)])
    lines = describe(made)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 110
    assert "node0005, …, node1999 (2000 in all)" in " ".join(line.strip() for line in lines)


def test_a_composite_layout_is_readable() -> None:
    tools = {"lfs getstripe -d /scratch/bench": "lfs_getstripe_pfl"}
    text = "\n".join(describe(collect_from(Answers("/scratch/bench", tools=tools), {})))
    assert "pattern composite" in text
    assert "count=8" in text


def test_nothing_known() -> None:
    assert describe({}) == []


def test_changes() -> None:
    changes = [
        Difference("stripe_unit_bytes", 1 << 20, 4 << 20),
        Difference("nfs_sync", False, True),
        Difference("mount_options", ["rw"], ["rw", "sync"]),
        Difference("kernel", None, "6.6"),
        Difference("io_environment", {"A": "1", "B": "2"}, {"A": "1", "B": "3"}),
    ]
    assert describe_differences(changes) == [
        "stripe_unit_bytes: 1 MiB -> 4 MiB",
        "nfs_sync: no -> yes",
        "mount_options: +sync",
        "kernel: unknown -> 6.6",
        "io_environment: -B=2 +B=3",
    ]
