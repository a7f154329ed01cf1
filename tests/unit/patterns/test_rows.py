from __future__ import annotations

import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.patterns import check, plan
from pytest_pario.patterns.rows import Shape, collective, independent, row, segmented, strided, strided_at_once
from pytest_pario.units import KiB, MiB

# fmt: off
ROWS = [
    row("contiguous-1M", segmented,       1 * MiB,      64 * MiB,  independent,  4),
    row("strided-32k",   strided,        32 * KiB,      64 * MiB,  collective,  16),
    row("strided-1k+8",  strided,         1 * KiB + 8, 1032 * KiB, collective,  16),
    row("columns-32k",   strided_at_once, 32 * KiB,     64 * MiB,  collective,  16),
]
# fmt: on


@pytest.mark.parametrize("pattern", ROWS, ids=lambda pattern: pattern.name)
def test_rows_tile_their_file(pattern: object) -> None:
    made = plan(pattern, pattern.ranks)  # type: ignore[arg-type, attr-defined]
    assert check.is_tiling(made.ranks)


def test_calls() -> None:
    counts = [plan(pattern, pattern.ranks or 1).ranks[0].call_count for pattern in ROWS]
    assert counts == [16, 128, 64, 1]


@pytest.mark.parametrize(
    ("shape", "piece", "total", "ranks", "text"),
    [
        (
            strided,
            1032,
            1048576,
            16,
            "x: total = 1048576 (from suite table): must be a whole number of 1032 B pieces; nearest is 1048512 B",
        ),
        (
            segmented,
            1032,
            1032 * 5,
            2,
            "x: total = 5160 (from suite table): must be a whole number of 1032 B pieces for each of 2 ranks; "
            "nearest is 6192 B",
        ),
        (strided, 0, 8, 2, "x: piece = 0 (from suite table): must be 1 or more"),
        (strided, 8, 0, 2, "x: total = 0 (from suite table): must be 1 or more"),
        (strided, 8, 8, 0, "x: ranks = 0 (from suite table): must be 1 or more"),
    ],
)
def test_impossible_totals_name_the_nearest(shape: Shape, piece: int, total: int, ranks: int, text: str) -> None:
    with pytest.raises(ParameterError) as caught:
        row("x", shape, piece, total, collective, ranks)
    assert str(caught.value) == text
