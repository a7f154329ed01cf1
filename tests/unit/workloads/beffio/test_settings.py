from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_pario.errors import HintFileError, ParameterError
from pytest_pario.units import GiB, MiB
from pytest_pario.workloads.beffio import machine
from pytest_pario.workloads.beffio.hintfile import InfoLimits
from pytest_pario.workloads.beffio.machine import describe_system, detect_machine, round_memory
from pytest_pario.workloads.beffio.settings import PARAMETERS, Machine, Settings, read_settings
from pytest_pario.workloads.parameters import Table, resolve

MACHINE = Machine(8, 4, 2 * GiB, 16 * GiB)
TABLE = Table(PARAMETERS)


def read(*pairs: str, time_s: float | None = None, profile: str = "quick") -> Settings:
    return read_settings(resolve(TABLE, pairs), time_s, profile, MACHINE)


def test_defaults_of_the_profiles() -> None:  # BEFF-65
    quick, full = read(), read(profile="full")
    assert quick.total_s < 10
    assert (full.total_s, full.limit_bytes, full.max_chunk) == (1800, None, None)
    assert full.mpart == 16 * MiB
    assert quick.mpart == 2 * MiB
    assert quick.partitions == (2, 4, 8)
    assert (quick.definition, quick.rewrite, quick.unique_open, quick.termination) == (
        "2.0",
        "type0",
        False,  # BEFF-33
        "geometric",  # BEFF-26
    )


def test_a_given_time_lifts_what_the_profile_limits() -> None:  # BEFF-07, BEFF-08
    given = read(time_s=1800)
    assert (given.mpart, given.max_chunk, given.limit_bytes) == (16 * MiB, None, None)
    assert given == read(time_s=1800, profile="full")
    assert given.deviations == ()
    assert "MPART 4194304 B in place of 16777216 B" in read("beff_max_chunk=4M", time_s=1800).deviations[0]
    assert read("beff_segment_align=2M").deviations[-1] == "segment_align 2097152 B"


def test_all_rewrites_take_45_minutes() -> None:  # BEFF-23, BEFF-51
    longer = read("beff_rewrite=all", "beff_partitions=2,4,8", profile="full")
    assert longer.total_s == 2700
    assert longer.partition_s / longer.shares == 4.6875
    assert read("beff_rewrite=all", time_s=60).total_s == 60
    assert read("beff_definition=1.x", profile="full").total_s == 1800


def test_release_1_says_that_it_rewrites_all() -> None:  # BEFF-36, BEFF-51
    found = read("beff_definition=1.x")
    assert found.rewrite == found.plain()["rewrite"] == "all"
    assert "rewrite=all" in found.schedule
    assert found == read("beff_definition=1.x", "beff_rewrite=all")


def test_a_segment_that_one_call_of_each_size_exceeds() -> None:  # BEFF-20
    assert read("beff_max_segment=8M").max_segment == 8 * MiB
    with pytest.raises(ParameterError, match=r"beff_max_segment = 1048576 .* 6291456 B or more"):
        read("beff_max_segment=1M")


def test_lengths_of_hints_are_those_of_the_library(tmp_path: Path) -> None:  # BEFF-56
    (tmp_path / "h").write_text(f"all all all on_open key {'v' * 300}\n")
    pair = f"beff_hints={tmp_path / 'h'}"
    assert read(pair).hints is not None
    with pytest.raises(HintFileError, match="at most 255 bytes"):
        read_settings(resolve(TABLE, [pair]), None, "quick", MACHINE, InfoLimits(36, 256))


def test_what_two_jobs_must_have_in_common(tmp_path: Path) -> None:  # BEFF-40
    (tmp_path / "a").write_text("all all all on_open cb_nodes 2\n")
    (tmp_path / "b").write_text("# the same rule\n\nall all all on_open cb_nodes 2\n")
    (tmp_path / "c").write_text("all all all on_open cb_nodes 1\n")
    a, b, c = (read(f"beff_hints={tmp_path / name}").asked for name in "abc")
    assert a == b
    assert a != c
    assert read().asked != a
    assert read().asked != read("beff_noshared=1").asked
    assert read().asked != read("beff_definition=1.x").asked


def test_what_is_asked_for_is_taken(tmp_path: Path) -> None:  # BEFF-49, BEFF-65
    (tmp_path / "h").write_text("8 all all on_open cb_nodes 2\n")
    found = read(
        "beff_partitions=8, 1,3", "beff_memory=1000M", "beff_rewrite=all", "beff_definition=1.x", "beff_noshared=1",
        f"beff_hints={tmp_path / 'h'}", "beff_max_segment=64M", "beff_dedicated=no", time_s=60,
    )  # fmt: skip
    assert found.partitions == (1, 3, 8)
    assert (found.memory_mib, found.mpart) == (1000, 8192000)
    assert (found.definition, found.rewrite, found.noshared, found.total_s) == ("1.x", "all", True, 60)
    assert found.partition_s == 60
    assert found.limit_bytes is None
    assert found.hints is not None
    assert found.hints.on_open(8, "read", "shared") == {"cb_nodes": "2"}
    assert found.plain()["partitions"] == [1, 3, 8]


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        ("beff_partitions=16", "1 to 8, the ranks of this job"),
        ("beff_partitions=0", "1 to 8"),
        ("beff_partitions=2;4", "commas between"),
        ("beff_partitions=\u00b2", "commas between"),
        ("beff_partitions=\u0662", "commas between"),
        ("beff_partitions=2,2", "different sizes"),
        ("beff_partitions=1,2,3,4,5,6,7,8,1,2,3", "different sizes"),
        ("beff_memory=0", "beff_memory = '0'"),
        ("beff_total_memory=0", "beff_total_memory"),
        ("beff_definition=3.0", "one of 1.x, 2.0"),
        ("beff_termination=never", "one of geometric, per_call"),
        ("beff_hints=/nowhere/x", "No such file"),
    ],
)
def test_wrong_parameters(pair: str, told: str) -> None:  # BEFF-49, BEFF-65
    with pytest.raises(ParameterError, match=told.replace("(", "\\(")):
        read(pair)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_a_time_that_is_none(seconds: float) -> None:  # BEFF-65
    with pytest.raises(ParameterError, match="positive number of seconds"):
        read(time_s=seconds)


def test_least_space() -> None:  # GEN-16
    one, all_at_once = read("beff_partitions=8"), read("beff_partitions=2,4,8")
    each = one.least_bytes // 8
    assert all_at_once.least_bytes == 14 * each
    assert read("beff_partitions=2,4,8", "beff_definition=1.x").least_bytes == 8 * each
    # one call of each pattern: 9 + 8 + 8 calls of about 1 MiB and three of MPART, two segments
    assert 25 * MiB < each < 64 * MiB


def test_the_machine_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:  # BEFF-04, BEFF-07, BEFF-52, BEFF-62
    # 251.6 GiB: MPART follows from 240 GiB, shares of the total memory from what there is
    node = 251 * GiB + 614 * MiB
    monkeypatch.setattr(machine, "memory_limit", lambda _context: node)
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1 << 40}[name])
    found = detect_machine(["a", "a", "b", "b"])
    assert (found.ranks, found.processes_per_node) == (4, 2)
    assert found.memory_bytes == 120 * GiB
    assert found.total_memory_bytes == 2 * node
    assert set(describe_system()) == {"host", "operating system", "machine"}


def test_memory_that_another_kernel_reserves_makes_no_other_benchmark() -> None:  # BEFF-07
    node = 252 * 1024 * MiB
    assert round_memory(node) == round_memory(node - 300 * MiB) == 240 * 1024 * MiB
    assert [round_memory(one) for one in (1, 7, 8, 15, 17, 31)] == [1, 7, 8, 15, 16, 30]


def test_what_decides_the_values_is_part_of_the_schedule() -> None:  # BEFF-44, BEFF-67
    plain = read().schedule
    assert plain.startswith("T=2 s on ")
    others = [
        "beff_partitions=1",
        "beff_rewrite=all",
        "beff_termination=per_call",
        "beff_limit=1M",
        "beff_noshared=yes",
    ]
    others += [
        "beff_flush=no",
        "beff_max_chunk=1M",
        "beff_max_segment=8M",
        "beff_segment_align=2M",
        "beff_unique_open=1",
    ]
    found = [read(one).schedule for one in others]
    assert len({plain, *found}) == len(others) + 1
    assert read("beff_dedicated=yes", "beff_fs_cache=1G").schedule == plain


def test_hints_by_parameters_are_part_of_what_was_asked_for() -> None:  # BEFF-57
    plain, given = read(), read("hint:cb_nodes=2")
    assert given.given_hints == given.plain()["given_hints"] == given.asked["given_hints"] == {"cb_nodes": "2"}
    # tables of a resumed job never mix the two
    assert plain.asked != given.asked
