from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pytest_pario.cli import main
from pytest_pario.errors import ParameterError
from pytest_pario.report.beffio import (
    Run,
    header_lines,
    plot_lines,
    protocol_lines,
    summary_lines,
    table_values,
    terminal_lines,
)
from pytest_pario.report.beffio_compare import compare_lines, read_saved
from pytest_pario.report.beffio_overview import overview
from pytest_pario.workloads.beffio.averages import Definition
from pytest_pario.workloads.beffio.results import Results
from tests.unit.workloads.beffio.test_averages import AVERAGES, PUBLISHED, SETS
from tests.unit.workloads.beffio.test_results import result, settings, whole

RUN = Run(settings(rewrite="all"), whole(), 0, {"release": "pytest-pario 1", "path": "/data"}, {2: 19 << 20})


def test_protocol() -> None:  # BEFF-28, BEFF-34, BEFF-61
    lines = protocol_lines(RUN)
    text = "\n".join(lines)
    assert sum(line.startswith("  p") and line[3:5].isdigit() for line in lines) == 3 * 43
    assert "MPART 2097152 B" in text
    assert "T                   1800 s scheduled" in text
    assert "LSEG 19922944 B" in text
    assert "t_open 0.5000 s" in text
    assert "b_eff_io (definition 2.0)" in text
    assert "b_eff_io (definition 1.x)" in text  # BEFF-38: both where the data suffice
    for report in (lines, summary_lines(RUN), terminal_lines(RUN, [])):
        system = [line for line in report if line.startswith("b_eff_io (definition ")]
        assert [line.split("(definition ")[1][:3] for line in system] == ["2.0", "1.x"]
        assert system[0].endswith("on 2 processes, NOT VALID for comparison")
        assert system[1].endswith("on 2 processes, for information only")
    assert "read, weighted average of the types" in text
    assert all(line.index("   aside ") for line in lines if "last io" in line)


def test_summary() -> None:  # BEFF-01, BEFF-05, BEFF-62
    text = "\n".join(summary_lines(RUN))
    for access in ("write", "rewrite", "read"):
        assert f"n=2 {access}: MB/s" in text
    table = text.split("n=2 write: MB/s (10^6)\n")[1].splitlines()
    assert [line.split()[0] for line in table[1:9]] == [
        "1k", "1k+8", "32k", "32k+8", "1M", "1M+8", "MPART", "total",
    ]  # fmt: skip
    assert all(len(line.split()) == 6 for line in table[1:9])
    assert "p02, 1M chunks with 2M calls" in text
    assert "of the total memory" in text
    assert "NOT VALID for comparison" in text
    assert "cache rule       unknown" in text
    assert "on 2 processes" in text


def test_what_was_not_measured_is_a_dash() -> None:  # BEFF-62
    part = Run(settings(), Results((result(0), result(4))))
    assert sum(line.startswith("b_eff_io (definition") for line in summary_lines(part)) == 1
    text = "\n".join(summary_lines(part))
    row = next(line for line in text.splitlines() if line.strip().startswith("32k "))
    assert row.split()[2:] == ["-"] * 4
    assert "incomplete, without" in text
    assert "incomplete" in "\n".join(terminal_lines(part, []))


def test_plot_data() -> None:  # BEFF-63
    lines = plot_lines(RUN)
    assert lines[0] == "partition,access,type,chunk,tick,mb_per_s"
    assert len(lines) == 1 + 3 * 5 * 7
    ticks = {line.split(",")[3]: int(line.split(",")[4]) for line in lines[1:]}
    assert ticks == {"1k": 1, "1k+8": 2, "32k": 4, "32k+8": 5, "1M": 7, "1M+8": 8, "MPART": 10}
    assert table_values(RUN.results, 2, "read")["1M"]["scatter"] == pytest.approx(result(3).rate)


def test_header() -> None:  # BEFF-04, BEFF-08, BEFF-52
    told = {"MPI library": "MPICH Version: 5.0.2", "threads": "1 of each process does I/O", "filesystem": "gpfs"}
    text = "\n".join(header_lines(Run(settings(fs_cache_bytes=3 << 30), whole(), 0, told)))
    for name, value in (
        *told.items(),
        ("filesystem's cache", "3 GiB"),
        ("partitions", "2 of 2 processes, 2 per node"),
        ("non-standard", "nothing"),
    ):
        assert re.search(rf"^  {name} +{re.escape(value)}$", text, re.MULTILINE), text
    other = "\n".join(header_lines(Run(settings(max_chunk=1 << 20, given_hints={"cb_nodes": "2"}), whole())))
    assert re.search(r"options +.*, cb_nodes=2,", other)
    assert re.search(r"non-standard +MPART 1048576 B in place of 2097152 B \(max_chunk\)", other)
    assert re.search(r"filesystem's cache +unknown \(beff_fs_cache\)", other)


def test_both_costs_of_deciding_are_in_the_protocol() -> None:  # BEFF-25
    lines = protocol_lines(RUN)
    assert any("dec/io all/all" in line for line in lines)
    row = next(line for line in lines if line.startswith("  p04")).split()
    # one decision of 2 ms to a call of 10 ms; five of them to 1.5 s
    assert row[16:18] == ["0.200", "0.007"]


def test_the_overview_of_a_whole_run() -> None:  # BEFF-38, BEFF-41, BEFF-62
    told = json.loads(json.dumps(overview(RUN)))
    assert (told["n"], told["missing"]) == (2, [])
    assert told["value_mb_s"] == told["partitions"]["2"]["value_mb_s"] > 0
    assert set(told["partitions"]["2"]["by_definition"]) == {"1.x", "2.0"}
    assert told["by_definition"] == told["partitions"]["2"]["by_definition"]
    assert told["by_definition"]["2.0"] == told["value_mb_s"]
    assert told["by_definition"]["1.x"] > 0
    # BEFF-67
    assert (told["definition"], told["release"]) == ("2.0", "pytest-pario 1")
    assert told["header"]["path"] == "/data"
    assert told["settings"]["mpart"] == 2 << 20
    assert not told["valid"]


def test_the_overview_of_a_part() -> None:  # BEFF-41, BEFF-62
    part = Run(settings(), Results(tuple(one for one in whole().patterns if one.number != 4)))
    told = json.loads(json.dumps(overview(part)))
    assert told["value_mb_s"] is told["n"] is told["partitions"]["2"]["value_mb_s"] is None
    assert "write scatter" in told["partitions"]["2"]["missing"]
    assert "n=2: write scatter" in told["missing"]
    table = told["partitions"]["2"]["tables"]["write"]
    assert table["32k"]["scatter"] is None
    assert table["1k"]["scatter"] > 0
    assert {"name": "complete", "reached": "not reached"}.items() <= told["criteria"][0].items()


def save(
    folder: Path, name: str, definition: Definition = "2.0", total_s: float = 1800, told_of: object = None
) -> Path:
    told = [
        {"part": "type", "n": 64, "access": access, "type": kind, "value_mb_s": value}
        for (access, one), (values, _) in PUBLISHED.items()
        if one == name
        for kind, value in enumerate(values)
    ]
    path = folder / f"{name}-{definition}.json"
    found = [{"extra_info": {"beffio": {**one, "definition": definition, "T": total_s}}} for one in told]
    more = {"beffio": told_of} if told_of else {}
    path.write_text(json.dumps({"benchmarks": [*found, {"extra_info": {}}], **more}))
    return path


def test_hint_sets_side_by_side(tmp_path: Path) -> None:  # BEFF-37: the published tables
    lines = compare_lines([read_saved(save(tmp_path, name)) for name in SETS])
    text = "\n".join(lines)
    assert text.count("\nwrite ") == text.count("\nread ") == 3
    values = [line.split("  ")[-1].split()[0] for line in lines if line.startswith("b_eff_io")]
    assert values == ["159.5", "440.7", "451.8"]
    assert "2.764 of" in text
    # the last rows of the published table, to its rounding
    rows = [line.split()[2:] for line in lines if line.startswith("average")]
    for row, (cells, corner) in zip(rows, AVERAGES.values(), strict=True):
        assert all(abs(float(one) - want) <= 1 for one, want in zip(row, (*cells, corner), strict=True))


def facts(**more: object) -> dict[str, object]:
    told = {**settings().plain(), "hints": "second.hints", **more}
    return {"release": "pytest-pario 1", "settings": told, "valid": bool(more.get("noshared") is None)}


def test_runs_say_what_they_were(tmp_path: Path) -> None:  # BEFF-41, BEFF-44
    first = save(tmp_path, "second", told_of=facts())
    third = {
        **facts(noshared=True, mpart=1 << 20, hints=None, given_hints={"cb_nodes": "2"}),
        "release": "pytest-pario 2",
    }
    second = save(tmp_path, "third", told_of=third)
    lines = compare_lines([read_saved(first), read_saved(second)])
    assert lines[0] == f"{first}: second.hints, T = 1800 s, MPART 2097152 B, valid for comparison"
    assert (
        lines[1]
        == f"{second}: no hint file (cb_nodes=2 by parameters), T = 1800 s, MPART 1048576 B, NOT VALID for comparison"
    )
    warned = [line for line in lines if line.startswith("warning")]
    assert [line.split()[1] for line in warned] == ["release", "mpart", "noshared"]
    plain = compare_lines([read_saved(save(tmp_path, "baseline"))])
    assert "hint file not saved, T = 1800 s, MPART not saved, validity not saved" in plain[0]


def test_a_run_without_types_says_so(tmp_path: Path) -> None:
    path = tmp_path / "part.json"
    entry = {"part": "pattern", "n": 2, "definition": "2.0", "T": 1.0}
    path.write_text(json.dumps({"benchmarks": [{"extra_info": {"beffio": entry}}], "beffio": facts()}))
    lines = compare_lines([read_saved(path)])
    assert "no type of it is complete: nothing to compare" in lines[0]
    assert "incomplete, without" in compare_lines([read_saved(path), read_saved(save(tmp_path, "third"))])[-2]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"part": None}, "part"),
        ({"T": None}, "T"),
        ({"definition": "0.9"}, "definition '0.9'"),
        ({"value_mb_s": None}, "value_mb_s"),
        ({"value_mb_s": "fast"}, "fast"),
        ({"type": 5}, "type 5"),
        ({"access": "append"}, "access 'append'"),
        ({"n": []}, "TypeError"),
    ],
)
def test_broken_entries_are_told(
    change: dict[str, object], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.json"
    whole = {"part": "type", "n": 2, "access": "read", "type": 0, "value_mb_s": 1.0, "definition": "2.0", "T": 1.0}
    entry = {key: value for key, value in {**whole, **change}.items() if value is not None}
    path.write_text(json.dumps({"benchmarks": [{"extra_info": {"beffio": entry}}]}))
    assert main(["beffio", "compare", str(path)]) == 2
    error = capsys.readouterr().err
    assert "broken.json" in error
    assert told in error


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--ranks", "0", "ranks = 0 (from --ranks): must be 1 or more"),
        ("--time", "0", "time = 0.0 (from --time): must be more than 0"),
        ("--dir", "/nowhere/at/all", "a directory that can be written to"),
        ("--limit", "4 apples", "limit = '4 apples' (from --limit): must be a number of bytes, 1 or more"),
    ],
)
def test_a_bench_that_cannot_be_run_is_refused(
    option: str, value: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "beffio", option, value]) == 2
    assert told in capsys.readouterr().err


def test_definitions_are_never_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # BEFF-67
    runs = [save(tmp_path, "second"), save(tmp_path, "second", "1.x")]
    with pytest.raises(ParameterError, match="the same in all runs"):
        compare_lines([read_saved(path) for path in runs])
    assert main(["beffio", "compare", *map(str, runs)]) == 2
    assert "weighted apart" in capsys.readouterr().err
    assert main(["beffio", "compare", str(runs[0]), str(save(tmp_path, "third", total_s=60))]) == 0
    assert "T differs" in capsys.readouterr().out  # BEFF-44


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"benchmarks": []}', '{"benchmarks": [1]}'])
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(ParameterError, match=r"other\.json"):
        read_saved(path)


def test_grid_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # BEFF-60
    assert main(["beffio", "grid", "--block", "524288", "--output", str(tmp_path)]) == 0
    assert len(list(tmp_path.glob("*.hints"))) == 2
    assert "written" in capsys.readouterr().out
