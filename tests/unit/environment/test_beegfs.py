from __future__ import annotations

import pytest

from pytest_pario.environment.beegfs import collect
from tests.unit.environment.answers import Answers

OLD = "beegfs-ctl --getentryinfo /mnt/beegfs/bench"
NEW = "beegfs entry info --retro --verbose /mnt/beegfs/bench"


@pytest.mark.parametrize(
    ("command", "recording", "unit", "factor", "pattern"),
    [
        (OLD, "beegfs_ctl_dir", 512 << 10, 4, "RAID0"),
        (OLD, "beegfs_ctl_file", 1 << 20, 3, "Buddy Mirror"),
        (NEW, "beegfs_entry_info", 1 << 20, 6, "RAID0"),
    ],
)
def test_entry_information(command: str, recording: str, unit: int, factor: int, pattern: str) -> None:
    told = collect(Answers("/mnt/beegfs/bench", tools={command: recording}))
    assert told["stripe_unit_bytes"].value == unit
    assert told["stripe_factor"].value == factor
    assert told["stripe_pattern"].value == pattern
    assert told["stripe_factor"].source in command


def test_version_and_pool() -> None:
    context = Answers(
        "/mnt/beegfs/bench", tools={OLD: "beegfs_ctl_dir"}, files={"/sys/module/beegfs/version": "7.4.5\n"}
    )
    told = collect(context)
    assert (told["beegfs_version"].value, told["stripe_pool"].value) == ("7.4.5", "1")


def test_silent_without_tools_and_elsewhere() -> None:
    assert collect(Answers("/mnt/beegfs/bench")) == {}
    assert collect(Answers("/tmp", tools={"beegfs-ctl --getentryinfo /tmp": "beegfs_ctl_dir"})) == {}
