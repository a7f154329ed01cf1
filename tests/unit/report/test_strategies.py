from __future__ import annotations

from pathlib import Path

import pytest

from pytest_pario.bench.strategies import run_strategies_bench, table
from pytest_pario.errors import ParameterError
from pytest_pario.report.strategies import (
    StrategyRow,
    format_interference,
    format_scan,
    format_strategies,
    ratio_interval,
)
from pytest_pario.session.scan import ScanRequest
from pytest_pario.units import KiB


def test_the_table_compares_with_native() -> None:  # RES-29, RES-41
    rows = [
        StrategyRow("demo", "read", 4, "resonant", (100.0, 110.0, 90.0)),
        StrategyRow("demo", "read", 4, "native", (50.0, 40.0, 60.0)),
        StrategyRow("alone", "read", 4, "resonant", (7.0,)),
    ]
    head, alone, resonant, native = format_strategies(rows)
    assert head.split()[:4] == ["MiB/s", "ranks", "strategy", "mean"]
    assert alone.split() == ["alone/read", "4", "resonant", "7.0", "-"]
    assert resonant.split() == ["demo/read", "4", "resonant", "100.0", "10%", "2.00", "[1.50,", "2.75]"]
    assert native.split() == ["demo/read", "4", "native", "50.0", "20%"]
    assert ratio_interval([1.0], [2.0]) == (0.5, 0.5, 0.5)


def rounds(**rates: float) -> dict[int, list[float]]:
    return {int(name[1:]) * KiB: [0.97 * rate, rate, 1.03 * rate] for name, rate in rates.items()}


def test_a_scan_tells_what_it_implies_and_no_more() -> None:  # RES-41, RES-09
    striped = {4: rounds(s32=70, s64=179, s128=50), 2: rounds(s32=60, s64=123, s128=160, s256=90)}
    found = format_scan(striped)
    assert found[1] == "  peak at 128 KiB (1.30 times the better neighbour): N*s = 256 KiB"
    assert found[3] == "  peak at 64 KiB (2.56 times the better neighbour): N*s = 256 KiB"
    assert found[-1].startswith("M*u = 256 KiB")
    # too short to tell
    assert not any("peak" in line or "M*u" in line for line in format_scan(striped, judged=False))


NOISY = rounds(s32=70, s64=100, s128=70)
NOISY[64 * KiB][0] = 60.0


@pytest.mark.parametrize(
    "scans",
    [
        {4: rounds(s32=70, s64=179, s128=50)},  # one number of processes only
        {4: rounds(s32=70, s64=179, s128=50), 2: rounds(s32=60, s64=123, s128=50)},  # two that differ
        {4: rounds(s32=1, s64=2, s128=3), 2: rounds(s32=3, s64=2, s128=1)},  # slopes
        {4: NOISY, 2: rounds(s64=70, s128=100, s256=70)},  # a round at the peak below one beside it
    ],
)
def test_no_stripe_without_agreement(scans: dict[int, dict[int, list[float]]]) -> None:  # RES-41
    assert format_scan(scans)[-1].startswith("no peak: nothing is implied")


def test_two_programs_are_shown_with_and_without_each_other() -> None:  # RES-38, RES-39
    row = {"strategy": "resonant:unit=1", "compute_s": 0.1, "alone": (10.0, 12.0), "together": (5.0, 6.0)}
    head, line = format_interference(
        [{**row, "other_alone": (3.0,), "other_together": (2.0,), "relative": 0.5, "cache": {"state": "cold"}}]
    )
    assert head.split()[:4] == ["MiB/s,", "two", "programs", "pause"]
    assert " ".join(line.split()) == (
        "resonant 0.1 s 11.0 [10.0, 12.0] 5.5 [5.0, 6.0] 3.0 [3.0, 3.0] 2.0 [2.0, 2.0] 0.50 cold"
    )


def test_bad_scans_are_refused(tmp_path: Path) -> None:
    for more, told in (({"ranks": 0}, "-n = 0"), ({"segments": ()}, "--segments"), ({"rounds": 1}, "--rounds = 1")):
        with pytest.raises(ParameterError, match=told):
            ScanRequest(str(tmp_path), **more)
    with pytest.raises(ParameterError, match="--dir"):
        ScanRequest(str(tmp_path / "missing"))


def test_bench_table() -> None:
    result = {
        "library": "MPICH",
        "rows": [
            {
                "directory": "/x",
                "case": "columns",
                "seconds": {
                    "write": {"two_phase": [0.03, 0.02], "native cb_nodes=4": [0.01, 0.06], "native": [0.02, 0.04]}
                },
            }
        ],
        "seeks": [{"strategy": "resonant:unit=1", "phase": "read", "most": 1, "mean": 0.25}],
    }
    lines = table(result, 4, {"/x": "tmpfs"})
    assert lines[2].split() == ["columns", "tmpfs", "write", "native", "20.00", "1.00", "1.00"]
    assert lines[3].split() == ["columns", "tmpfs", "write", "two_phase", "20.00", "1.00", "0.83"]
    assert lines[4].split() == ["columns", "tmpfs", "write", "native", "cb_nodes=4", "10.00", "0.50", "1.17"]
    assert lines[-1].split()[-3:] == ["resonant", "0.25", "1"]
    with pytest.raises(ParameterError, match="--ranks = 1"):
        run_strategies_bench(1, [], 1, None)
