"""How a strategy is asked for, and what a wrong request is told."""

from __future__ import annotations

import pytest

from pytest_pario.errors import ParameterError, ParioError
from pytest_pario.model import STRATEGIES, Pattern
from pytest_pario.options import TABLE
from pytest_pario.patterns import Strided, pattern_from_json, to_json
from pytest_pario.schemes.settings import parse_strategy, with_hints
from pytest_pario.units import KiB, MiB


def test_names_and_parameters() -> None:  # RES-26, RES-02, RES-21
    made = parse_strategy("resonant:scheme=timed,unit=64KiB,nodes=4,delay_s=0.001")
    assert (made.name, made.scheme, made.unit, made.nodes, made.delay_s) == ("resonant", "timed", 64 * KiB, 4, 0.001)
    for name in STRATEGIES:
        assert str(parse_strategy(name)) == name
    assert parse_strategy(str(made)) == made


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("magic", "strategy = 'magic'"),
        ("resonant:scheme=fast", "one of auto, agents, timed"),
        ("resonant:speed=9", "unknown parameter 'speed'"),
        ("two_phase:agents=0", r"two_phase\.agents = 0"),
        ("two_phase:buffer=big", r"two_phase\.buffer = 'big'"),
        ("resonant:delay_s=3", r"delay_s = 3\.0"),
    ],
)
def test_bad_requests(text: str, told: str) -> None:
    (spec,) = [spec for spec in TABLE if spec.flag == "--pario-strategy"]
    for parse in (parse_strategy, spec.parse):
        with pytest.raises(ParioError, match=told):
            parse(text)


def test_hints_fill_in() -> None:  # RES-02: explicit parameters first; a hint of 0 is no evidence
    hints = {"striping_unit": "1048576", "striping_factor": "0", "cb_nodes": "2", "cb_buffer_size": "4194304"}
    made = with_hints(parse_strategy("resonant"), hints)
    assert (made.unit, made.nodes, made.agents, made.buffer) == (MiB, None, 2, 4 * MiB)
    assert with_hints(parse_strategy("resonant:unit=64KiB"), hints).unit == 64 * KiB
    assert with_hints(parse_strategy("data_shipping"), {"IBM_io_buffer_size": "1000000"}).stripe == 1_000_000
    # also where it says the default
    named = parse_strategy("two_phase:buffer=16MiB")
    assert with_hints(named, hints).buffer_bytes == parse_strategy("two_phase").buffer_bytes == 16 * MiB
    assert str(named) == "two_phase:buffer=16777216"


@pytest.mark.parametrize(("text", "stripe"), [("16MB", 16 * MiB), ("2MB", 2 * MiB), ("262144", 256 * KiB), ("0", None)])
def test_a_hint_has_its_own_spelling(text: str, stripe: int | None) -> None:  # GPFS-35
    assert with_hints(parse_strategy("data_shipping"), {"IBM_io_buffer_size": text}).stripe == stripe


def test_a_hint_that_is_no_size_is_refused() -> None:  # GPFS-35
    for name in ("IBM_io_buffer_size", "cb_buffer_size"):
        with pytest.raises(ParameterError, match=f"{name} = 'big'"):
            with_hints(parse_strategy("data_shipping"), {name: "big"})
    # what the settings name themselves needs no hint
    assert with_hints(parse_strategy("data_shipping:stripe=1M"), {"IBM_io_buffer_size": "big"}).stripe == MiB


def test_merging_can_be_switched_off() -> None:  # RES-27
    made = parse_strategy("resonant:merge=false")
    assert (made.merge, parse_strategy("resonant").merge) == (False, True)
    assert parse_strategy(str(made)) == made
    with pytest.raises(ParameterError, match=r"resonant\.merge = 'perhaps'"):
        parse_strategy("resonant:merge=perhaps")


def test_a_row_may_name_its_strategy() -> None:
    row = Pattern("a", Strided(4), True, strategy="two_phase:agents=2")
    again = pattern_from_json(to_json(row))
    assert again == row
    assert row.id != Pattern("a", Strided(4), True).id
    with pytest.raises(ParameterError, match="a: strategy = 'magic'"):
        Pattern("a", Strided(4), strategy="magic")
    with pytest.raises(ParameterError, match="left out with api=posix"):
        Pattern("a", Strided(4), pointer="explicit", api="posix", strategy="native")
