from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_pario.cli import main
from pytest_pario.errors import ParameterError
from pytest_pario.report.beffio import Run, plot_lines, protocol_lines, summary_lines, table_values, terminal_lines
from pytest_pario.report.beffio_compare import compare_lines, read_saved
from pytest_pario.workloads.beffio.averages import Definition
from pytest_pario.workloads.beffio.results import Results
from tests.unit.workloads.beffio.test_averages import PUBLISHED, SETS
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
    assert "read, weighted average of the types" in text


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


def save(folder: Path, name: str, definition: Definition = "2.0", total_s: float = 1800) -> Path:
    told = [
        {"part": "type", "n": 64, "access": access, "type": kind, "value_mb_s": value}
        for (access, one), (values, _) in PUBLISHED.items()
        if one == name
        for kind, value in enumerate(values)
    ]
    path = folder / f"{name}-{definition}.json"
    found = [{"extra_info": {"beffio": {**one, "definition": definition, "T": total_s}}} for one in told]
    path.write_text(json.dumps({"benchmarks": [*found, {"extra_info": {}}]}))
    return path


def test_hint_sets_side_by_side(tmp_path: Path) -> None:  # BEFF-37: the published tables
    lines = compare_lines([read_saved(save(tmp_path, name)) for name in SETS])
    text = "\n".join(lines)
    assert text.count("\nwrite ") == text.count("\nread ") == 3
    values = [line.split("  ")[-1].split()[0] for line in lines if line.startswith("b_eff_io")]
    assert values == ["159.5", "440.7", "451.8"]
    assert "2.764 of" in text


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
