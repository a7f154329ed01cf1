"""CONS-31, CONS-37, CONS-38: both rates of every record, and when one of them is withheld."""

from __future__ import annotations

from pytest_pario.measure.rates import rates_of
from pytest_pario.model import Samples, Spread
from pytest_pario.units import MiB

ONE = Spread(1, 1, 1, 0)


def samples(elapsed_s: tuple[float, ...], span_s: tuple[float, ...]) -> Samples:
    each = (ONE,) * len(elapsed_s)
    return Samples((8 * MiB,) * len(elapsed_s), each, each, each, each, elapsed_s, span_s)


def test_both_rules() -> None:
    told = rates_of(samples((2.0, 4.0), (4.0, 8.0)), clocks_agree=True)
    assert (told["rate_max"], told["rate_span"], told["unit"]) == ([4.0, 2.0], [2.0, 1.0], "MiB/s")
    over = told["over_rounds"]
    # CONS-07, CONS-32, CONS-33: how rounds were combined, with their variation
    assert isinstance(over, dict)
    assert (over["max"], over["mean"], over["deviation_population"]) == (4.0, 3.0, 1.0)


def test_the_span_is_withheld_where_clocks_cannot_be_compared() -> None:
    assert rates_of(samples((2.0,), (4.0,)), clocks_agree=False)["rate_span"] is None
    # a clock that was set back in one of the rounds
    assert rates_of(samples((2.0, 2.0), (4.0, -1.0)), clocks_agree=True)["rate_span"] == [2.0, None]


def test_no_time_has_no_rate() -> None:
    told = rates_of(samples((0.0,), (0.0,)), clocks_agree=True)
    assert (told["rate_max"], told["rate_span"], told["over_rounds"]) == ([None], [None], None)
