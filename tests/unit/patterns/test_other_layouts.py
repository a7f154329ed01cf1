"""Worked figures of the small layouts: sparse strided, same, files, cells."""

from __future__ import annotations

import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.model import Pattern
from pytest_pario.patterns import Cells, Files, Same, SparseStrided, Strided, check, plan
from pytest_pario.units import KiB

SPARSE = SparseStrided(12 * KiB, 24 * 12 * KiB, 50)


def test_sparse_records_never_share_a_block() -> None:
    # GPFS-31
    made = plan(Pattern("sparse", SPARSE), 24)
    assert all(not check.shares_block(table, 256 * KiB) for table in made.ranks)
    assert check.shares_block(SparseStrided(12 * KiB, 24 * KiB, 50).calls(0, 1), 256 * KiB)


def test_tiled_on_24_nodes_has_the_sparse_stride() -> None:
    # GPFS-30, GPFS-32
    tiled = plan(Pattern("tiled", Strided(12 * KiB, ncalls=50)), 24)
    sparse = plan(Pattern("sparse", SPARSE), 24)
    assert all(check.are_equal(one, other) for one, other in zip(tiled.ranks, sparse.ranks, strict=True))


def test_a_stride_has_room_for_24_records() -> None:
    # OQ-9
    with pytest.raises(ParameterError, match=r"sparse: sparse_strided\.stride = 294912"):
        plan(Pattern("sparse", SPARSE), 25)


def test_all_ranks_have_the_same_bytes() -> None:
    # BEFF-64
    made = plan(Pattern("same", Same(100, 3)), 4)
    assert [table.offsets.tolist() for table in made.ranks] == [[0, 100, 200]] * 4
    assert check.file_size(made.ranks) == 300
    assert check.total_bytes(made.ranks) == 1200


def test_small_files() -> None:
    # CONS-71
    layout = Files(3, 10, 4)
    made = plan(Pattern("files", layout, files="each"), 2)
    assert made.ranks[1].lengths.tolist() == [4, 4, 2]
    assert layout.names(1) == ("rank00001.000000", "rank00001.000001", "rank00001.000002")
    assert len({layout.writer(rank, index) for rank in range(5) for index in range(3)}) == 15
    assert Files(1, own_directory=True).names(7) == ("rank00007/000000",)


def test_files_are_not_shared() -> None:
    with pytest.raises(ParameterError, match=r"files\.count"):
        plan(Pattern("files", Files(3, 10)), 2)


def test_cells_of_btio() -> None:
    # N = 12, p = 2: rank 0 has cells (0,0,0) and (1,1,1) of 6^3 points of 40 bytes; here in (z, y, x) order
    boxes = (
        (((0, 0, 0), (6, 6, 6)), ((6, 6, 6), (6, 6, 6))),
        (((0, 0, 6), (6, 6, 6)), ((6, 6, 0), (6, 6, 6))),
        (((0, 6, 0), (6, 6, 6)), ((6, 0, 6), (6, 6, 6))),
        (((0, 6, 6), (6, 6, 6)), ((6, 0, 0), (6, 6, 6))),
    )
    made = plan(Pattern("btio", Cells((12, 12, 12), boxes, 40), coll=True), 4, repetitions=3)
    assert check.is_tiling(made.ranks)
    assert check.file_size(made.ranks) == 3 * 12**3 * 40
    # one row of a cell is 6 points
    assert set(made.ranks[1].lengths.tolist()) == {240}
    assert made.ranks[1].offsets[0] == 6 * 40


@pytest.mark.parametrize(
    "boxes",
    [((((0, 0), (1, 2)),),), ((((0,), (1,)),),), ((((0, 0), (0, 1)),),), ((((2, 0), (1, 1)),),), ((),)],
)
def test_boxes_lie_inside_the_array(boxes: tuple[tuple[tuple[tuple[int, ...], tuple[int, ...]], ...], ...]) -> None:
    with pytest.raises(ParameterError, match=r"cells\.boxes"):
        Cells((2, 1), boxes, 8)


def test_cells_know_their_ranks() -> None:
    layout = Cells((2, 2), ((((0, 0), (2, 2)),),), 8)
    with pytest.raises(ParameterError, match=r"x: cells\.boxes.*each of 2 ranks; there are 1"):
        Pattern("x", layout, ranks=2)
