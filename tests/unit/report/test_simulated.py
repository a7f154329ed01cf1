from __future__ import annotations

import re
import subprocess
import sys

import pytest

from pytest_pario.cli import PIPE_STATUS, main
from pytest_pario.report.simulation import format_plot, format_spread, format_sweeps
from pytest_pario.units import MB, KiB, parse_bytes


def test_table_marks_the_best_of_a_column() -> None:
    rates = {("independent", 4): {32 * KiB: 70.0 * MB, 64 * KiB: 179.0 * MB}}
    head, first, second = format_sweeps(rates)
    assert head.split() == ["MB/s", "non-4"]
    assert first.split() == ["32", "KiB", "70"]
    assert second.split() == ["64", "KiB", "179*"]


def test_the_spread_over_seeds_is_shown() -> None:  # SIM-08
    head, row = format_spread({("independent", 2): {256 * KiB: (50.0 * MB, 170.0 * MB, 51.0 * MB)}}, "least-most")
    assert head.split() == ["least-most", "non-2"]
    assert row.split() == ["256", "KiB", "50-170"]


def test_plot_puts_the_highest_on_top() -> None:
    lines = format_plot({"a": {1024: 1.0, 2048: 4.0}, "b": {1024: 1.0, 2048: 2.0}}, "MB/s", rows=4)
    assert lines[0].endswith("o")
    assert lines[0].startswith("       4 |")
    assert "ox" in lines[3 - 0]
    assert lines[-1] == "MB/s: o a  x b"
    assert lines[-2].split() == ["1KiB", "2KiB"]


@pytest.mark.parametrize("model", ["resonance", "interference", "scaling", "locks", "prefetch"])
def test_pages(model: str, capsys: pytest.CaptureFixture[str]) -> None:  # SIM-08, SIM-15
    few = ["--processes", "1", "4"]
    given = {"resonance": ["--segments", "64K", "--seeds", "1"], "scaling": few, "prefetch": few}
    arguments = given.get(model, [])
    assert main(["simulate", model, "--nodes", "8", "--set", "jitter_s=0.0002", *arguments]) == 0
    text = capsys.readouterr().out
    assert text.startswith("8 nodes, striping unit 64 KiB, jitter_s=0.0002")
    if model == "locks":  # GPFS-41
        assert re.search(r"^partitioned +[\d.]+ +0 +\d+$", text, re.MULTILINE)
        assert ": 1 restart, " in text
    if model == "prefetch":  # GPFS-42
        assert re.search(r"^max_acc=1 +\d\.\d\d +\d\.\d\d$", text, re.MULTILINE)
    if model == "resonance":
        assert "full resonance at N*s = M*u: N=2: 256 KiB, N=4: 128 KiB" in text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--set", "foo=1"], "unknown parameter 'foo'; known: delay_s"),
        (["--unit", "x"], "storage.unit = 'x' (from command line)"),
        (["--nodes", "0"], "storage.nodes = 0"),
        (["--segments", "0"], "--segments"),
        (["--seeds", "0"], "--seeds = 0"),
        (["--schemes", "magic"], "scheme = 'magic'"),
        (["--processes", "0"], "program"),
    ],
)
def test_bad_arguments(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "resonance", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_sizes() -> None:
    assert [parse_bytes(text) for text in ("4096", "64K", "64KiB", "1 MiB", "7B")] == [4096, 65536, 65536, 1 << 20, 7]
    with pytest.raises(ValueError, match="many"):
        parse_bytes("many")


def test_no_command_models_for_hours(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "resonance", "--segments", "1"]) == 2
    assert "at most 1000000 calls are modelled" in capsys.readouterr().err


def test_a_reader_that_has_had_enough() -> None:
    command = [sys.executable, "-m", "pytest_pario.cli", "simulate", "locks"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait(60) == PIPE_STATUS
