"""The table of classes against the figures that follow from it."""

from __future__ import annotations

import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.workloads.btio.classes import ROWS, class_of_size, find_class

# fmt: off
#   class  fields  total bytes         operations per step
FIGURES = [
    ("S",  12,     829_440,            3.805230e6),
    ("W",  40,     22_118_400,         3.85938168e7),
    ("A",  40,     419_430_400,        8.414223168e8),
    ("B",  40,     1_697_932_800,      3.510898905e9),
    ("C",  40,     6_802_444_800,      1.433139926e10),
    ("D",  50,     135_834_624_000,    2.333431402e11),
    ("E",  50,     2_122_416_000_000,  3.673389984e12),
    ("F",  50,     33_554_432_000_000, 5.824894237e13),
]
# fmt: on


@pytest.mark.parametrize(("name", "fields", "total", "flops"), FIGURES)
def test_figures_of_a_class(name: str, fields: int, total: int, flops: float) -> None:
    found = find_class(name)
    assert (found.fields, found.total_bytes) == (fields, total)
    assert found.flops / found.steps == pytest.approx(flops, rel=2e-7)
    assert class_of_size(total) is found
    assert all(norm > 0 for norm in (*found.residual, *found.error, *(found.delta or ())))


def test_only_the_last_class_has_no_published_mean() -> None:
    assert [row.name for row in ROWS if row.delta is None] == ["F"]


def test_an_unknown_class_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"class = 'X' \(from --class\): must be one of S, W, A"):
        find_class("X", "--class")
    assert class_of_size(829_441) is None
