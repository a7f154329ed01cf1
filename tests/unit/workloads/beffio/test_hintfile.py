from __future__ import annotations

from pathlib import Path

import pytest

from pytest_pario.errors import HintFileError, HintValueError, ParameterError
from pytest_pario.units import KiB
from pytest_pario.workloads.beffio.hintfile import InfoLimits, parse_hints, read_hint_file, recommended_grid, sendable
from pytest_pario.workloads.beffio.table import ROWS

HINTS = Path(__file__).parents[4] / "suites" / "hints"

FILE = """
# a comment, and a blank line above
all write scatter on_open  cb_buffer_size   4194304
all all   all     all      romio_cb_write   enable
4   all   scatter 32768    romio_cb_write   disable
all read  shared  Lmax     IBM_io_buffer_size 8MB with blanks  \t
all all   scatter 1048576  romio_ds_write   automatic
all all   scatter on_open  cb_buffer_size   8388608
"""


def test_who_gets_what() -> None:  # BEFF-53, BEFF-54
    rules = parse_hints(FILE, "x.hints", [2, 4])
    # a later line wins for the same key
    assert rules.on_open(2, "write", "scatter") == {"cb_buffer_size": "8388608", "romio_cb_write": "enable"}
    assert rules.on_open(2, "read", "shared") == {"romio_cb_write": "enable"}
    assert rules.at_pattern(4, "write", ROWS[4]) == {"romio_cb_write": "disable"}
    assert rules.at_pattern(2, "write", ROWS[4]) == {"romio_cb_write": "enable"}
    assert rules.at_pattern(2, "read", ROWS[10]) == {
        "romio_cb_write": "enable",
        "IBM_io_buffer_size": "8MB with blanks",
    }
    assert rules.at_pattern(2, "read", ROWS[3])["romio_ds_write"] == "automatic"
    assert "romio_ds_write" not in rules.at_pattern(2, "read", ROWS[8])
    # the fill of a segment has no size of its own: rules for all chunks only
    assert rules.at_pattern(2, "write", ROWS[33]) == {"romio_cb_write": "enable"}


@pytest.mark.parametrize(
    ("line", "field", "allowed"),
    [
        ("all write scatter on_open key", "line", "six fields"),
        ("3 write scatter on_open key value", "procs", "all or a partition in use: 2, 4"),
        ("x write scatter on_open key value", "procs", "partition in use"),
        ("all Write scatter on_open key value", "access", "one of all, write, rewrite, read"),
        ("all write scattered on_open key value", "type", "seg_coll"),
        ("all write scatter 2048 key value", "chunk", "1048584"),
        ("all write scatter lmax key value", "chunk", "Lmax"),
        ("\u00b2 write scatter on_open key value", "procs", "partition in use"),
        (f"all write scatter on_open {'k' * 255} value", "key", "at most 254 bytes"),
        (f"all write scatter on_open key {'v' * 1024}", "value", "at most 1023 bytes"),
        (f"all write scatter on_open key {chr(0x20AC) * 342}", "value", "at most 1023 bytes"),
        (f"all write scatter on_open key {'v' * 2000}", "line", "at most 2000"),
        ("all write scatter 1024 IBM_largeblock_io switchable", "value", "at open only"),
    ],
)
def test_wrong_lines(line: str, field: str, allowed: str) -> None:  # BEFF-56
    with pytest.raises(HintFileError) as caught:  # ERR-04
        parse_hints(f"# first\n\n{line}\n", "my.hints", [2, 4])
    assert f"my.hints:3: {field}: " in str(caught.value)
    assert allowed in str(caught.value)


def test_the_longest_texts() -> None:  # BEFF-56
    line = "all all all on_open {} {}"
    assert parse_hints(line.format("k" * 254, "v" * 1023), "x", [1]).rules[0].key == "k" * 254
    openmpi = InfoLimits(36, 256)
    assert parse_hints(line.format("k" * 35, "v" * 255), "x", [1], limits=openmpi).rules
    for key, value in (("k" * 36, "v"), ("k", "v" * 256)):
        with pytest.raises(HintFileError, match="as the MPI library takes no more"):
            parse_hints(line.format(key, value), "x", [1], limits=openmpi)


def test_values_that_would_crash_a_library() -> None:  # GEN-13
    with pytest.raises(HintValueError, match=r"my\.hints, line 1"):
        parse_hints("all all all on_open cb_buffer_size 0", "my.hints", [1])


def test_a_buffer_may_only_shrink_after_open() -> None:  # GEN-13
    opened = "all all scatter on_open cb_buffer_size 1048576\n"
    shrinking = parse_hints(opened + "all read scatter 1024 cb_buffer_size 65536\n", "my.hints", [1])
    assert shrinking.at_pattern(1, "read", ROWS[5]) == {"cb_buffer_size": "65536"}
    with pytest.raises(HintFileError, match=r"my\.hints:2: cb_buffer_size: '2097152'.*1048576 B in force at open"):
        parse_hints(opened + "all read all 1024 cb_buffer_size 2097152\n", "my.hints", [1])
    with pytest.raises(HintFileError, match="16777216 B in force"):
        parse_hints("all all all Lmax cb_buffer_size 33554432\n", "my.hints", [1])
    with pytest.raises(HintFileError, match="65536 B in force"):
        parse_hints("all all all 1024 cb_buffer_size 131072\n", "my.hints", [1], {"cb_buffer_size": "65536"})


def test_switchable() -> None:  # BEFF-58
    rules = parse_hints(
        "all all all on_open IBM_largeblock_io switchable\nall all all on_open cb_buffer_size switchable", "x", [1]
    )
    asked = rules.on_open(1, "write", "scatter")
    assert asked == {"IBM_largeblock_io": "switchable", "cb_buffer_size": "switchable"}
    # a library that takes numbers only would read 0: leaving it out is what switchable means at open
    assert sendable(asked) == {"IBM_largeblock_io": "switchable"}


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="No such file"):
        read_hint_file(tmp_path / "none.hints", [1])
    assert read_hint_file(_write(tmp_path, ""), [1]).rules == ()  # BEFF-57


def _write(folder: Path, text: str) -> Path:
    path = folder / "some.hints"
    path.write_text(text)
    return path


LARGE, SIZE = "IBM_largeblock_io", "IBM_io_buffer_size"


def test_the_three_standard_sets() -> None:  # BEFF-59
    baseline, second, third = (read_hint_file(HINTS / f"{n}.hints", [8]) for n in ("baseline", "second", "third"))
    everywhere = [(access, row) for access in ("write", "rewrite", "read") for row in ROWS if row.units]
    for access, row in everywhere:
        assert baseline.on_open(8, access, row.kind) == {LARGE: "false", SIZE: "8MB"}  # type: ignore[arg-type]
        assert second.on_open(8, access, row.kind) == {LARGE: "true"}  # type: ignore[arg-type]
        assert third.on_open(8, access, row.kind)[LARGE] == "switchable"  # type: ignore[arg-type]
        small = row.type in (0, 1) and row.label in ("1k", "1k+8", "32k", "32k+8")
        wanted = {LARGE: "false", SIZE: "2MB"} if small else {LARGE: "true", SIZE: "8MB"}
        assert third.at_pattern(8, access, row) == wanted, row  # type: ignore[arg-type]
    assert not any("IBM_sparse_access" in path.read_text() for path in HINTS.iterdir())


def test_the_recommended_grid() -> None:  # BEFF-60
    grid = recommended_grid(512 * KiB)
    assert sorted(grid) == ["grid-4-blocks", "grid-64-blocks"]
    for name, size in (("grid-4-blocks", "2MB"), ("grid-64-blocks", "32MB")):
        rules = parse_hints(grid[name], name, [2])
        assert rules.at_pattern(2, "read", ROWS[5]) == {LARGE: "false", SIZE: size}
        assert rules.at_pattern(2, "read", ROWS[3]) == {LARGE: "true"}
        assert rules.on_open(2, "write", "segmented") == {LARGE: "true"}
    with pytest.raises(ParameterError, match="block"):
        recommended_grid(0)
