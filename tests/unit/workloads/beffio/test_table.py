from __future__ import annotations

import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.units import KiB, MiB
from pytest_pario.workloads.beffio.table import FILL, MPART, ROWS, TYPES, is_tabled, mpart_of, rows_of, type_number


def test_invariants() -> None:  # BEFF-06, BEFF-10, BEFF-11
    assert [row.number for row in ROWS] == list(range(43))
    assert TYPES == ("scatter", "shared", "separated", "segmented", "seg_coll")
    assert [sum(row.units for row in rows_of(kind)) for kind in range(5)] == [22, 12, 10, 10, 10]
    assert sum(row.units > 0 for row in ROWS) == 36
    # the paper's table has one row for each but the two that fill segments
    assert sum(row.chunk != FILL for row in ROWS) == 41
    assert [row.number for row in ROWS if row.chunk == MPART] == [1, 10, 18, 26, 35]
    assert [row.number for row in ROWS if row.chunk == FILL] == [33, 42]
    assert [rows_of(kind)[0].number for kind in range(5)] == [0, 9, 17, 25, 34]
    assert [rows_of(kind)[-1].number for kind in range(5)] == [8, 16, 24, 33, 42]
    assert all(row.units == 0 for kind in range(5) for row in rows_of(kind)[:1])


@pytest.mark.parametrize("mpart", [2 * MiB, 8192000, 1 << 30])
def test_chunks_divide_calls_and_are_whole_doubles(mpart: int) -> None:  # BEFF-09, BEFF-11, BEFF-12
    ratios = [row.call_bytes(mpart) / row.chunk_bytes(mpart) for row in rows_of(0)]
    assert ratios == [1, 1, 2, 1, 32, 1024, 32, 1024, 1]
    assert all(row.chunk_bytes(mpart) % 8 == row.call_bytes(mpart) % 8 == 0 for row in ROWS)
    sizes = {row.chunk for row in ROWS} - {MPART, FILL}
    wellformed = {KiB, 32 * KiB, MiB}
    assert sizes == wellformed | {size + 8 for size in wellformed}


def test_the_rows_of_the_table() -> None:  # BEFF-10
    told = [(row.label, row.units) for row in rows_of(3)]
    assert told[1:-1] == [(row.label, row.units) for row in rows_of(2)][1:]
    assert told[1:-1] == [(row.label, row.units) for row in rows_of(4)][1:-1]
    assert [(row.label, row.units) for row in rows_of(1)] == [
        ("1M", 0), ("MPART", 4), ("1M", 2), ("32k", 1), ("1k", 1), ("32k+8", 1), ("1k+8", 1), ("1M+8", 2),
    ]  # fmt: skip
    assert [row.call for row in rows_of(0)] == [
        MiB, MPART, 2 * MiB, MiB, MiB, MiB, MiB + 256, MiB + 8 * KiB, MiB + 8,
    ]  # fmt: skip
    assert [row.number for row in ROWS if not is_tabled(row)] == [0, 2, 9, 17, 25, 33, 34, 42]


@pytest.mark.parametrize(
    ("memory_mib", "mpart"),
    [
        (100, 2097152),
        (257, 2105344),
        (512, 4194304),
        (1000, 8192000),
        (8192, 67108864),
        (131072, 1 << 30),
        (1 << 20, 1 << 30),
    ],
)
def test_mpart(memory_mib: int, mpart: int) -> None:  # BEFF-07
    assert mpart_of(memory_mib) == mpart


def test_mpart_is_capped() -> None:  # BEFF-08
    assert mpart_of(8192, max_chunk=10_000_001) == 10_000_000
    assert mpart_of(100, max_chunk=1 << 40) == 2 * MiB
    with pytest.raises(ParameterError, match="memory"):
        mpart_of(0)


def test_types_by_name() -> None:
    assert [type_number(name) for name in TYPES] == [0, 1, 2, 3, 4]
    with pytest.raises(ParameterError, match="seg_coll"):
        type_number("tiled")
