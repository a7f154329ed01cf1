from __future__ import annotations

import pytest

from pytest_pario.errors import ParameterError, UnknownParameterError
from pytest_pario.model import Pattern
from pytest_pario.patterns import LAYOUTS, Scaled, Scattered, Segmented, build, find, plan, scaled


def test_a_miss_lists_what_there_is() -> None:
    assert find("strided") is LAYOUTS["strided"]
    with pytest.raises(ParameterError, match=r"layout = 'stridded'.*one of block3d, cells, files"):
        find("stridded")


def test_lists_become_tuples() -> None:
    assert build("segmented", {"segment": 10, "chunks": [4, 6]}) == Segmented(10, (4, 6))


@pytest.mark.parametrize(
    ("parameters", "error", "text"),
    [
        ({"blok": 1}, UnknownParameterError, r"unknown parameter 'strided\.blok'; known: strided\.block"),
        ({"pad": 1}, ParameterError, r"strided\.block = None.*no default"),
        ({"block": 0}, ParameterError, r"strided\.block = 0"),
        ({"block": "n +"}, ParameterError, "expression"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, object], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        build("strided", parameters)


def test_expressions_wait_for_the_number_of_ranks() -> None:
    # MODEL-12
    layout = scaled("scattered", block=1024, total="340992*n", region=2147483648)
    assert isinstance(layout, Scaled)
    assert layout.at(2) == Scattered(1024, 681984, region=2147483648)
    assert layout.parameters() == {"block": 1024, "total": "340992*n", "region": 2147483648}


def test_expressions_inside_lists() -> None:
    layout = scaled("segmented", segment="100*n", chunks=["10*n", 5])
    assert layout.at(3) == Segmented(300, (30, 5))


def test_checks_wait_too_and_name_the_row() -> None:
    pattern = Pattern("odd", scaled("scattered", block=8, total="10*n + 1"))
    with pytest.raises(ParameterError, match=r"odd: scattered\.total = 31.*3 ranks"):
        plan(pattern, 3)
    with pytest.raises(ParameterError, match=r"odd: scattered\.total = 31"):
        Pattern("odd", pattern.layout, ranks=3)
