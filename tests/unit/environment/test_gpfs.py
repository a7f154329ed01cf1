from __future__ import annotations

import pytest

from pytest_pario.environment.fingerprint import Json
from pytest_pario.environment.gpfs import collect, data_pools, parse_table
from tests.unit.environment.answers import Answers, recorded

TABLE = "mmlsfs fs1 -f -B -V -r"
DISKS = "mmlsdisk fs1 -Y"


def facts(**tools: str) -> dict[str, Json]:
    return {name: told.value for name, told in collect(Answers("/gpfs/fs1/bench", tools=tools)).items()}


def test_table_for_people() -> None:
    told = facts(**{TABLE: "mmlsfs", DISKS: "mmlsdisk", "mmdiag --version": "mmdiag_version"})
    assert told == {
        "gpfs_version": "5.1.9.4",
        "gpfs_format": "31.00 (5.1.9.0)",
        "gpfs_subblock_bytes": 8192,
        "gpfs_data_replicas": 1,
        "gpfs_pools": {"data": 3},
        "stripe_unit_bytes": 4 << 20,
        "stripe_factor": 3,
        "stripe_pool": "data",
    }


def test_fields_for_programs_come_first() -> None:
    told = facts(**{"mmlsfs fs1 -Y": "mmlsfs_fields", TABLE: "mmlsfs"})
    assert told["stripe_unit_bytes"] == 8 << 20
    assert told["gpfs_subblock_bytes"] == 16384
    assert told["gpfs_format"] == "33.00 (5.2.0.0)"


def test_blocks_of_the_pool_that_holds_data() -> None:
    assert facts(**{TABLE: "mmlsfs_pools", DISKS: "mmlsdisk"})["stripe_unit_bytes"] == 16 << 20


def test_two_pools_with_data_have_no_striping() -> None:
    told = facts(**{TABLE: "mmlsfs_pools", DISKS: "mmlsdisk_two_pools"})
    assert told["gpfs_pools"] == {"data": 2, "system": 1}
    assert not {"stripe_unit_bytes", "stripe_factor"} & set(told)


def test_rows_without_a_flag_belong_to_the_row_above() -> None:
    rows = [row for row in parse_table(recorded("mmlsfs_pools")) if row.name == "blockSize"]
    assert [(row.value, row.remark) for row in rows] == [
        ("1048576", "Block size (system pool)"),
        ("16777216", "Block size (other pools)"),
    ]


@pytest.mark.parametrize(
    ("tools", "size"),
    [
        ({"mmdiag --config": "mmdiag_config", "mmlsconfig pagepool": "mmlsconfig_pagepool"}, 16 << 30),
        ({"mmlsconfig pagepool": "mmlsconfig_pagepool"}, 4 << 30),
        # which of the two holds here is not told
        ({"mmlsconfig pagepool": "mmlsconfig_pagepool_classes"}, None),
    ],
)
def test_pagepool(tools: dict[str, str], size: int | None) -> None:
    assert facts(**tools).get("gpfs_pagepool_bytes") == size


def test_disks_that_are_down_do_not_count() -> None:
    assert data_pools(recorded("mmlsdisk")) == {"data": 3}
    assert data_pools("mmlsdisk: 6027-1291 Options -Y cannot be used\n") == {}


def test_silent_without_tools_and_elsewhere() -> None:
    assert facts() == {}
    assert collect(Answers("/tmp", tools={TABLE: "mmlsfs"})) == {}
