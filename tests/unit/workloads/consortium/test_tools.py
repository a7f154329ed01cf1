from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_pario.errors import ParameterError, VerificationError, WatchdogTimeout
from pytest_pario.workloads.consortium.place import Place
from pytest_pario.workloads.consortium.tools import OPERATIONS, TOOLS, Tool, find_tool, missing_tool, run_tool
from pytest_pario.workloads.consortium.tree import Tree

LIMIT_S = 20.0


@pytest.fixture
def place(tmp_path: Path) -> Place:
    tree = Tree(files=7, size=100, depth=2, large_size=3000)
    where = Place(tmp_path / "a place", tree)
    where.root.mkdir()
    tree.plant(where.top, where.large)
    return where


def carry_out(tool: Tool, place: Place) -> str:
    tool.prepare(place)
    return run_tool(tool, place, LIMIT_S)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: f"{tool.operation}-{tool.program}")
def test_every_tool_does_its_work(tool: Tool, place: Place) -> None:
    # CONS-69, CONS-70; twice, as in a measurement
    if reason := missing_tool(tool):
        pytest.skip(reason)
    for _ in range(2):
        tool.check(tool.operation, place, carry_out(tool, place))


def test_all_operations_of_the_consortium_are_there() -> None:
    # CONS-69
    expected = "copy-file copy-tree list list-long stat pack list-archive unpack remove"
    assert tuple(expected.split()) == OPERATIONS


@pytest.mark.parametrize("operation", ["copy-file", "copy-tree", "pack", "unpack", "remove"])
def test_a_program_that_does_nothing_is_found_out(operation: str, place: Place) -> None:
    idle = replace(find_tool(operation), program="true")
    idle.prepare(place)
    with pytest.raises((VerificationError, FileNotFoundError)):
        idle.check(operation, place, run_tool(idle, place, LIMIT_S))


@pytest.mark.parametrize("operation", ["list", "list-long", "stat", "list-archive"])
def test_a_listing_that_misses_a_file_is_found_out(operation: str, place: Place) -> None:
    tool = find_tool(operation)
    output = carry_out(tool, place)
    without = "\n".join(line for line in output.splitlines() if "file000003" not in line)
    with pytest.raises(VerificationError, match="1 missing: file000003"):
        tool.check(operation, place, without)


@pytest.mark.parametrize("operation", ["list-long", "stat"])
def test_a_listing_with_a_wrong_size_is_found_out(operation: str, place: Place) -> None:
    tool = find_tool(operation)
    (place.top / "file000003").write_bytes(b"short")
    with pytest.raises(VerificationError, match="1 different: file000003"):
        tool.check(operation, place, carry_out(tool, place))


def test_a_wrong_byte_in_a_copy_is_found_and_named(place: Place) -> None:
    # CONS-70: same size, other content
    tool = find_tool("copy-tree")
    output = carry_out(tool, place)
    victim = place.copy / place.tree.names[4]
    victim.write_bytes(b"x" + victim.read_bytes()[1:])
    with pytest.raises(VerificationError, match=f"1 different: {place.tree.names[4]}"):
        tool.check("copy-tree", place, output)


def test_a_swapped_pair_of_files_is_found(place: Place) -> None:
    tool = find_tool("copy-tree")
    output = carry_out(tool, place)
    one, other = (place.copy / place.tree.names[index] for index in (0, 3))
    held = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(held)
    with pytest.raises(VerificationError, match="2 different"):
        tool.check("copy-tree", place, output)


def test_exit_status_counts(place: Place) -> None:
    # CONS-70
    tool = find_tool("copy-file")
    place.large.unlink()
    with pytest.raises(VerificationError, match=r"cp .* ended with status 1: cp: "):
        carry_out(tool, place)


def test_a_program_that_does_not_end_is_killed(place: Place) -> None:
    endless = replace(find_tool("list"), program="sleep", arguments="60")
    with pytest.raises(WatchdogTimeout, match=r"sleep 60 did not end within 0\.2 s"):
        run_tool(endless, place, 0.2)


def test_choosing_a_program() -> None:
    assert find_tool("remove").program == "rm"
    assert find_tool("remove", "find").arguments == "{copy} -delete"
    with pytest.raises(ParameterError, match="one of default, rm, find for remove"):
        find_tool("remove", "cp")
    with pytest.raises(ParameterError, match="one of copy-file, copy-tree"):
        find_tool("defragment")


def test_a_missing_program_is_a_reason() -> None:
    absent = replace(find_tool("list"), program="no-such-program")
    assert missing_tool(absent) == "list: no program no-such-program on this host"
    assert missing_tool(replace(absent, program="sh")) is None
