from __future__ import annotations

import pytest

from pytest_pario.bench.strategies import run_strategies_bench, table
from pytest_pario.errors import ParameterError
from pytest_pario.report.strategies import StrategyRow, format_scan, format_strategies, ratio_interval
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


def test_a_scan_tells_what_it_implies_and_no_more() -> None:  # RES-41
    found = format_scan({4: {32 * KiB: 70.0, 64 * KiB: 179.0, 128 * KiB: 50.0}, 2: {32 * KiB: 1.0, 64 * KiB: 2.0}})
    assert "nothing is implied" in found[1]
    assert found[3] == "  peak at 64 KiB (2.56 times the better neighbour): N*s = M*u = 256 KiB"


def test_bench_table() -> None:
    result = {
        "library": "MPICH",
        "rows": [
            {
                "directory": "/x",
                "case": "columns",
                "seconds": {"write": {"two_phase": [0.03, 0.02], "native": [0.02, 0.04]}},
            }
        ],
        "seeks": [{"strategy": "resonant:unit=1", "phase": "read", "most": 1, "mean": 0.25}],
    }
    lines = table(result, 4, {"/x": "tmpfs"})
    assert lines[2].split() == ["columns", "tmpfs", "write", "native", "20.00", "1.00", "1.00"]
    assert lines[3].split() == ["columns", "tmpfs", "write", "two_phase", "20.00", "1.00", "0.83"]
    assert lines[-1].split()[-3:] == ["resonant", "0.25", "1"]
    with pytest.raises(ParameterError, match="--ranks = 1"):
        run_strategies_bench(1, [], 1, None)
