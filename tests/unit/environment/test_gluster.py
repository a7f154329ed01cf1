from __future__ import annotations

from pytest_pario.environment.gluster import collect
from tests.unit.environment.answers import Answers

INFO = "gluster --mode=script volume info gv0"


def test_a_volume_with_shards() -> None:
    told = collect(
        Answers("/mnt/pfs/x", tools={INFO: "gluster_volume_info", "glusterfs --version": "glusterfs_version"})
    )
    assert told["gluster_version"].value == "10.3"
    assert told["gluster_volume_type"].value == "Distributed-Disperse"
    assert told["gluster_bricks"].value == 6
    assert told["gluster_shard_bytes"].value == 16 << 20
    options = told["gluster_options"].value
    assert isinstance(options, dict)
    assert options["performance.write-behind"] == "off"
    assert len(options) == 5


def test_a_volume_that_keeps_files_whole() -> None:
    told = collect(Answers("/mnt/pfs/x", tools={INFO: "gluster_volume_info_plain"}))
    assert told["gluster_bricks"].value == 4
    assert told["gluster_shard_bytes"].value == 0


def test_shards_are_not_stripes() -> None:
    told = collect(Answers("/mnt/pfs/x", tools={INFO: "gluster_volume_info"}))
    assert not {name for name in told if name.startswith("stripe_")}


def test_the_attribute_where_it_is_shown() -> None:
    attributes = {"trusted.glusterfs.shard.block-size": bytes.fromhex("0000000000400000")}
    assert collect(Answers("/mnt/pfs/x", attributes=attributes))["gluster_shard_bytes"].value == 4 << 20


def test_silent_without_tools_and_elsewhere() -> None:
    assert collect(Answers("/mnt/pfs/x")) == {}
    assert collect(Answers("/tmp", tools={INFO: "gluster_volume_info"})) == {}
