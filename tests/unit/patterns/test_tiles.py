from __future__ import annotations

import pytest

from pytest_pario.errors import ParameterError, ProcessCountError
from pytest_pario.model import Pattern
from pytest_pario.patterns import Tiles, check, plan, views

WORKED = Tiles(2, 2, 20, 10, 3, 4, 3, 777)


def test_worked_example() -> None:
    # CONS-67: W=36, H=17, file 2613 bytes, moved 2400 bytes, tile 3 row 0 at 777+804
    made = plan(Pattern("tiles", WORKED), 4)
    assert WORKED.shape == (17, 36)
    assert check.file_size(made.ranks) == 2613
    assert check.total_bytes(made.ranks) == 2400
    assert made.ranks[3].offsets[0] == 777 + 804
    assert made.ranks[3].lengths.tolist() == [60] * 10


def test_readme_example() -> None:
    # CONS-67: 25 x 4 tiles of 100 x 100 elements of 32 bytes
    made = plan(Pattern("tiles", Tiles(25, 4, 100, 100, 32)), 100)
    assert check.file_size(made.ranks) == 32_000_000
    assert check.is_tiling(made.ranks)


@pytest.mark.parametrize(("nx", "ny", "ox", "oy"), [(3, 2, 0, 0), (3, 2, 2, 1), (1, 4, 0, 2)])
def test_rows_are_those_of_the_formula(nx: int, ny: int, ox: int, oy: int) -> None:
    # CONS-59..62
    sx, sy, elem, header = 5, 4, 3, 11
    width, height = nx * sx - (nx - 1) * ox, ny * sy - (ny - 1) * oy
    made = plan(Pattern("tiles", Tiles(nx, ny, sx, sy, elem, ox, oy, header)), nx * ny)
    for rank in range(nx * ny):
        ty, tx = rank // nx, rank % nx
        wanted = [header + ((ty * (sy - oy) + j) * width + tx * (sx - ox)) * elem for j in range(sy)]
        assert made.ranks[rank].offsets.tolist() == wanted
    assert check.file_size(made.ranks) == header + width * height * elem
    assert check.total_bytes(made.ranks) == nx * ny * sx * sy * elem


def test_overlap_is_named() -> None:
    made = plan(Pattern("tiles", WORKED), 4)
    overlap = check.find_overlap(made.ranks)
    assert WORKED.overlapping
    assert overlap is not None
    # the first shared element is column 16 of row 0
    assert (overlap.offset, overlap.ranks) == (777 + 16 * 3, (0, 1))


def test_ranks_beyond_the_tiles_take_no_part() -> None:
    # CONS-64
    made = plan(Pattern("tiles", WORKED), 6)
    assert (made.ranks[5].call_count, made.ranks[5].total_bytes) == (1, 0)
    assert [view.calls for view in views(made, 5)] == [1]
    with pytest.raises(ProcessCountError, match="need 4 ranks; there are 3"):  # ERR-03
        plan(Pattern("tiles", WORKED), 3)


@pytest.mark.parametrize(
    "bad",
    [{"nx": 0}, {"sz": 1}, {"nx": 2, "sx": 4, "ox": 4}, {"ny": 2, "sy": 4, "oy": 5}, {"header": -1}, {"elem": 0}],
)
def test_impossible_parameters(bad: dict[str, int]) -> None:
    # CONS-68
    with pytest.raises((ParameterError, TypeError)):
        Tiles(**bad)


def test_any_overlap_is_allowed_with_one_tile() -> None:
    # CONS-68
    assert not Tiles(1, 1, 4, 4, ox=9, oy=9).overlapping
