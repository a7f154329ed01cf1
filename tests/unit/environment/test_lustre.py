from __future__ import annotations

import struct

import pytest

from pytest_pario.environment.fingerprint import Json
from pytest_pario.environment.lov import Component, parse_lov, pattern_name
from pytest_pario.environment.lustre import collect, parse_getstripe
from tests.unit.environment.answers import Answers, recorded

GETSTRIPE = "lfs getstripe -d /scratch/bench"
M = 1 << 20


def facts(**answers: str) -> dict[str, Json]:
    tools = {"lfs osts /scratch": "lfs_osts", "lfs pool_list scratch.flash": "lfs_pool_list", **answers}
    return {name: told.value for name, told in collect(Answers("/scratch/bench", tools=tools)).items()}


@pytest.mark.parametrize(
    ("recording", "unit", "count", "pattern", "pool"),
    [
        ("lfs_getstripe_dir", M, 4, "raid0", "flash"),
        ("lfs_getstripe_dir_old", 4 * M, 2, "raid0", ""),
        ("lfs_getstripe_file", 4 * M, 2, "raid0", "disk"),
        ("lfs_getstripe_file_old", M, 2, "raid0", ""),
        ("lfs_getstripe_yaml", 524288, 6, "raid0", ""),
        # -1 is all targets that are active, or all of the pool
        ("lfs_getstripe_dir_all", 2 * M, 5, "raid0", ""),
        ("lfs_getstripe_dir_all_pool", 2 * M, 2, "raid0", "flash"),
    ],
)
def test_plain_layouts(recording: str, unit: int, count: int, pattern: str, pool: str) -> None:
    told = facts(**{GETSTRIPE: recording})
    assert (told["stripe_unit_bytes"], told["stripe_factor"]) == (unit, count)
    assert (told["stripe_pattern"], told["stripe_pool"]) == (pattern, pool)
    assert told["lustre_osts"] == 5


def test_all_targets_of_a_pool_that_is_not_listed() -> None:
    tools = {GETSTRIPE: "lfs_getstripe_dir_all_pool", "lfs osts /scratch": "lfs_osts"}
    assert "stripe_factor" not in collect(Answers("/scratch/bench", tools=tools))


def test_zero_stands_for_the_layout_of_the_root() -> None:
    answers = {GETSTRIPE: "lfs_getstripe_dir_default", "lfs getstripe -d /scratch": "lfs_getstripe_dir"}
    assert facts(**answers)["stripe_factor"] == 4
    assert "stripe_factor" not in facts(**{GETSTRIPE: "lfs_getstripe_dir_default"})


def test_overstriped_files_have_no_count_of_io_nodes() -> None:
    told = facts(**{GETSTRIPE: "lfs_getstripe_overstriped"})
    assert told["stripe_pattern"] == "raid0,overstriped"
    assert "stripe_factor" not in told


def test_progressive_layout() -> None:
    told = facts(**{GETSTRIPE: "lfs_getstripe_pfl"})
    assert told["stripe_pattern"] == "composite"
    assert "stripe_factor" not in told
    components = told["stripe_components"]
    assert isinstance(components, list)
    assert components[1] == {
        "start": 262144,
        "end": 1 << 30,
        "unit": M,
        "count": 1,
        "pattern": "raid0",
        "pool": "performance",
    }


def test_components_with_data_on_the_metadata_server() -> None:
    first, _, last = parse_getstripe(recorded("lfs_getstripe_pfl"))
    assert first == Component(0, 262144, 262144, 0, "mdt", "")
    assert last == Component(1 << 30, None, 4 * M, 8, "raid0", "capacity")


def test_old_progressive_layout() -> None:
    found = parse_getstripe(recorded("lfs_getstripe_pfl_file_old"))
    assert [(c.start, c.end, c.count) for c in found] == [(0, 4 * M, 1), (4 * M, None, 4)]


@pytest.mark.parametrize("text", ["", "no stripe info\n", "stripe_count: many\n", "\0\xff"])
def test_odd_output_is_silence(text: str) -> None:
    assert parse_getstripe(text) == []


# the attribute


def plain(magic: int, unit: int, count: int, pool: bytes = b"", pattern: int = 1) -> bytes:
    tail = struct.pack("<16s", pool) if magic != 0x0BD10BD0 else b""
    return struct.pack("<II16xIHH", magic, pattern, unit, count, 0xFFFF) + tail


def composite(*parts: tuple[int, int, bytes]) -> bytes:
    at = 32 + 48 * len(parts)
    entries, blobs = b"", b""
    for k, (start, end, blob) in enumerate(parts):
        entries += struct.pack("<IIQQIIIQI", k + 1, 0x10, start, end, at + len(blobs), len(blob), 0, 0, 0)
        blobs += blob
    head = struct.pack("<IIIHHH14x", 0x0BD40BD0, at + len(blobs), 1, 0, len(parts), 0)
    return head + entries + blobs


def test_attribute_v1_and_v3() -> None:
    assert parse_lov(plain(0x0BD10BD0, M, 4)) == [Component(0, None, M, 4, "raid0", "")]
    assert parse_lov(plain(0x0BD30BD0, M, 0xFFFF, b"flash")) == [Component(0, None, M, -1, "raid0", "flash")]


def test_attribute_of_a_composite_layout() -> None:
    data = composite(
        (0, 262144, plain(0x0BD10BD0, 262144, 0, pattern=0x100)),
        (262144, 0xFFFFFFFFFFFFFFFF, plain(0x0BD30BD0, 4 * M, 8, b"disk", pattern=0x201)),
    )
    assert parse_lov(data) == [
        Component(0, 262144, 262144, 0, "mdt", ""),
        Component(262144, None, 4 * M, 8, "raid0,overstriped", "disk"),
    ]


def test_attributes_that_are_cut_or_unknown() -> None:
    whole = composite((0, 0xFFFFFFFFFFFFFFFF, plain(0x0BD10BD0, M, 4)))
    for length in range(len(whole)):
        assert parse_lov(whole[:length]) == []
    assert parse_lov(b"\0" * 64) == []
    assert pattern_name(0x40000001) == "raid0"
    assert pattern_name(0x400) == "0x400"


def test_a_component_that_ends_before_the_file_is_not_plain() -> None:
    data = composite((0, 1 << 30, plain(0x0BD10BD0, M, 4)))
    told = collect(Answers("/scratch/bench", attributes={"lustre.lov": data}))
    assert told["stripe_pattern"].value == "composite"
    assert "stripe_factor" not in told


def test_the_attribute_serves_where_there_is_no_lfs() -> None:
    context = Answers("/scratch/bench", attributes={"lustre.lov": plain(0x0BD30BD0, M, 4, b"flash")})
    told = collect(context)
    assert told["stripe_factor"] == (4, "lustre.lov")
    assert told["stripe_pool"].value == "flash"


# the version


@pytest.mark.parametrize(
    ("files", "tools", "version"),
    [
        ({"/sys/fs/lustre/version": "lustre_version_sys"}, {}, "2.15.5"),
        ({"/proc/fs/lustre/version": "lustre_version_old"}, {}, "2.10.8"),
        ({}, {"lctl get_param version": "lctl_version"}, "2.12.9"),
        ({}, {"lfs --version": "lfs_version"}, "2.14.0_ddn98"),
    ],
)
def test_version(files: dict[str, str], tools: dict[str, str], version: str) -> None:
    read = {path: recorded(name) for path, name in files.items()}
    assert collect(Answers("/scratch/bench", files=read, tools=tools))["lustre_version"].value == version


def test_silent_without_tools_and_elsewhere() -> None:
    assert collect(Answers("/scratch/bench")) == {}
    assert collect(Answers("/tmp", tools={"lfs getstripe -d /tmp": "lfs_getstripe_dir"})) == {}
