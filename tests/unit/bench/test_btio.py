"""What `pario bench btio` reads from a reference program, and the table that it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_pario.bench.btio import Solved, _ratios, read_seconds
from pytest_pario.errors import ParameterError
from pytest_pario.report.btio import table_lines
from pytest_pario.workloads.btio.classes import find_class

# as NPB prints it
OUTPUT = """
 BT Benchmark Completed.
 Class           =                        A
 Size            =             64x  64x  64
 Time in seconds =                    54.60
"""


def test_seconds_of_a_reference() -> None:
    assert read_seconds(OUTPUT, find_class("A"), Path("bt")) == 54.6


@pytest.mark.parametrize(("output", "told"), [(OUTPUT, "it tells of class A"), ("", "it tells of class none")])
def test_a_program_of_another_class_is_refused(output: str, told: str) -> None:
    with pytest.raises(ParameterError, match=rf"a BT program of class W; {told}"):
        read_seconds(output, find_class("W"), Path("bt"))


def test_ratios_are_of_the_best() -> None:
    sides = {"pario": [Solved(2.0, 3.0), Solved(1.0, 4.0)], "reference": [Solved(10.0, 30.0)]}
    assert _ratios(4, sides) == ["reference / pario", "4", "10.00x", "", "10.00x", "", ""]
    assert table_lines(("a", "b"), [("long", "1"), ("x", "")]) == ["a     b", "long  1", "x"]
