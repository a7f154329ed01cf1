"""What `pario bench btio` reads from a reference program, and the table that it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_pario.bench.btio import Solved, _ratios, _row, read_seconds
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


def test_ratios_are_of_the_best_and_of_the_same_measure() -> None:
    # the job's CPU time on both sides: a reference does not tell that of its timed part
    sides = {"pario": [Solved(2.0, 3.0, 1.0), Solved(1.0, 4.0, 0.5)], "reference": [Solved(10.0, 30.0)]}
    assert _ratios(4, sides) == ["reference / pario", "4", "10.00x", "", "", "", "", "10.00x"]
    ours, theirs = (_row(find_class("S"), 4, side, runs, None) for side, runs in sides.items())
    assert ours == ["pario", "4", "1.000", "228", "0.50", "8333", "", "3.00"]
    assert theirs == ["reference", "4", "10.000", "23", "", "", "", "30.00"]
    assert table_lines(("a", "b"), [("long", "1"), ("x", "")]) == ["a     b", "long  1", "x"]
