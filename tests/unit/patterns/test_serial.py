from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_pario.errors import ParameterError, UnknownParameterError
from pytest_pario.model import (
    Damage,
    Derived,
    Fixed,
    Hints,
    Memory,
    Open,
    Pattern,
    Record,
    Replay,
    Samples,
    Spread,
    Timed,
)
from pytest_pario.patterns import (
    Segmented,
    Strided,
    pattern_from_json,
    pattern_from_plain,
    patterns_from_toml,
    patterns_to_toml,
    record_from_plain,
    scaled,
    to_json,
)
from pytest_pario.plain import plain
from tests.unit.patterns.layout_cases import Case, cases

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
hints = st.dictionaries(st.text(min_size=1, max_size=6), texts, max_size=3)
repeats = st.one_of(
    st.builds(Fixed, st.integers(1, 9)),
    st.builds(Timed, st.floats(0.1, 1e6), st.integers(0, 4)),
    st.just(Replay()),
    st.builds(Derived, st.tuples(st.text(min_size=1, max_size=5))),
)
syncs = st.sampled_from(["none", "per_pattern", "per_call", "end"])
rows = st.builds(
    lambda case, repeated, opens, hint, metric: replace(
        case.pattern(), repeat=repeated[0], open=opens, hints=hint, sync=repeated[1], metric=metric
    ),
    cases,
    # a loop that ends by time does not sync after every call
    st.tuples(repeats, syncs).filter(lambda pair: not isinstance(pair[0], Timed) or pair[1] != "per_call"),
    st.builds(Open, unique=st.booleans(), presize=st.booleans(), prefill=st.sampled_from([None, 0, 0xEE])),
    st.builds(Hints, hints, hints),
    st.sampled_from(["beff_type", "transfer_rate", "aggregate", "job_time"]),
)


@settings(max_examples=150, deadline=None)
@given(row=rows)
def test_patterns_survive_json_and_toml(row: Pattern) -> None:
    assert pattern_from_json(to_json(row)) == row
    assert patterns_from_toml(patterns_to_toml([row, row])) == (row, row)
    assert json.loads(to_json(row)) == plain(row)


def test_rows_of_the_specification() -> None:
    # MODEL-12
    text = """
        [[pattern]]
        name = "beff.t0.p6"
        layout = { name = "strided", block = 32776, per_call = 32 }
        pointer = "individual"
        coll = true
        repeat = { name = "timed", total_s = 1800, units = 2 }
        sync = "per_pattern"

        [[pattern]]
        name = "gpfs.disc"
        layout = { name = "scattered", block = 1024, total = "340992*n", region = 2147483648 }
        open = { unique = true }
        metric = "job_time"
    """
    assert patterns_from_toml(text) == (
        Pattern("beff.t0.p6", Strided(32776, 32), coll=True, repeat=Timed(1800, 2), sync="per_pattern"),
        Pattern(
            "gpfs.disc",
            scaled("scattered", block=1024, total="340992*n", region=2147483648),
            open=Open(unique=True),
            metric="job_time",
        ),
    )


def test_defaults_are_not_written() -> None:
    row = Pattern("x", Segmented(8, (4, 4)), mem=Memory(2, 1))
    assert plain(row) == {
        "name": "x",
        "layout": {"name": "segmented", "segment": 8, "chunks": [4, 4]},
        "mem": {"piece": 2, "gap": 1},
    }


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"colour": 1}, UnknownParameterError, r"unknown parameter 'x\.colour'; known: x\.access, x\.after"),
        ({"layout": {"block": 1}}, ParameterError, "layout = .*a table with a name"),
        ({"layout": {"name": "stridded"}}, ParameterError, "one of block3d"),
        ({"open": {"uniqe": True}}, UnknownParameterError, r"open\.uniqe"),
        ({"open": {"unique": "yes"}}, ParameterError, r"open\.unique = 'yes'.*type bool"),
        ({"coll": "yes"}, ParameterError, r"x\.coll = 'yes'"),
        ({"repeat": {"name": "often"}}, ParameterError, "repeat = 'often'.*derived, fixed, replay, timed"),
        ({"repeat": {"name": "timed"}}, ParameterError, "repeat = .*complete"),
        ({"repeat": {"name": "fixed", "count": 0}}, ParameterError, r"repeat\.count = 0"),
        ({"pointer": "implicit"}, ParameterError, "x: pointer = 'implicit'.*one of explicit, individual, shared"),
    ],
)
def test_wrong_tables_are_refused_by_name(change: dict[str, object], error: type[Exception], text: str) -> None:
    data = {"name": "x", "layout": {"name": "strided", "block": 8}, **change}
    with pytest.raises(error, match=text):
        pattern_from_plain(data)


@pytest.mark.parametrize("text", ["pattern = 1", "[[patern]]\nname='x'", "[[pattern]", "[[pattern]]\nname = 'x'"])
def test_wrong_files_are_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        patterns_from_toml(text)


@settings(max_examples=20, deadline=None)
@given(case=cases)
def test_records_survive_json(case: Case) -> None:
    spread = (Spread(0.1, 0.2, 0.3, 0.01), Spread(1, 2, 3, 4))
    samples = Samples((10, 10), spread, spread, spread, spread, (0.5, 9.5), (0.6, 9.6))
    damage = Damage("f", 3, 1, None, 7, 0, 2, "gone")
    record = Record(case.pattern(), "read", case.n, samples, 42, {"mpi": "x"}, {"loop": "python"}, ("cached",), damage)
    assert record_from_plain(json.loads(to_json(record))) == record
    plainer = replace(record, flags=(), damage=None)
    assert record_from_plain(json.loads(to_json(plainer))) == plainer
