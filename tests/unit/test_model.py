from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.model import (
    Damage,
    Derived,
    Extents,
    Fixed,
    Hints,
    Memory,
    Open,
    Pattern,
    Replay,
    Samples,
    Spread,
    State,
    Timed,
    Verdict,
)
from pytest_pario.patterns import Segmented, Strided
from pytest_pario.plain import plain

ROW = Pattern("strided-32k", Strided(32768, ncalls=4), coll=True)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"name": ""}, r": name = ''"),
        ({"name": "a b"}, r"a b: name = 'a b'.*letters, digits"),
        ({"pointer": "none"}, r"x: pointer = 'none'.*one of explicit, individual, shared"),
        ({"files": "both"}, r"x: files = 'both'.*one of shared, each"),
        ({"sync": "often"}, r"x: sync = 'often'.*one of none, per_pattern, per_call, end"),
        ({"metric": "fun"}, r"x: metric = 'fun'.*one of beff_type"),
        ({"api": "nfs"}, r"x: api = 'nfs'.*one of mpiio, posix"),
        ({"access": ()}, r"x: access = \(\)"),
        ({"access": ("write", "write")}, r"x: access = .*each once"),
        ({"access": ("write", "append")}, r"x: access"),
        ({"etype": 0}, r"x: etype = 0"),
        ({"ranks": 0}, r"x: ranks = 0"),
        ({"coll": True, "files": "each"}, r"x: coll = True.*false with a file for each rank"),
        ({"api": "posix"}, r"x: api = 'posix'.*explicit and independent"),
        ({"api": "posix", "pointer": "explicit", "coll": True}, r"x: api"),
        ({"api": "posix", "pointer": "explicit", "mem": Memory(64, 8)}, r"x: mem = .*contiguous with api=posix"),
        ({"api": "posix", "pointer": "explicit", "open": Open(atomic=True)}, r"x: open\.atomic = True"),
        ({"api": "posix", "pointer": "explicit", "hints": Hints({"cb_nodes": "1"})}, r"x: hints = .*left out"),
        ({"api": "posix", "pointer": "explicit", "repeat": Timed(1, 1)}, r"x: repeat = 'timed'.*fixed with api=posix"),
        ({"open": Open(delete_on_close=True)}, r"x: access = .*read alone with delete_on_close"),
        ({"repeat": Timed(1, 1), "sync": "per_call"}, r"x: sync = 'per_call'.*with a given time"),
        ({"pointer": "shared", "files": "each"}, r"x: files = 'each'"),
        ({"pointer": "shared", "mem": Memory(4, 4)}, r"x: mem"),
        ({"pointer": "shared", "layout": Strided(8, per_call=2), "ranks": 2}, r"x: pointer = 'shared'"),
        ({"layout": Segmented(0, (8,)), "ranks": 2}, r"x: segmented\.segment = 0"),
    ],
)
def test_an_impossible_row_says_why(change: dict[str, Any], text: str) -> None:
    # ERR-01
    with pytest.raises(ParameterError, match=text):
        Pattern(**{"name": "x", "layout": Strided(8), **change})


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Memory(0, 4), r"mem\.piece = 0"),
        (lambda: Memory(4, 0), r"mem\.piece = 4"),
        (lambda: Memory(4, -1), r"mem\.gap = -1"),
        (lambda: Open(prefill=256), r"open\.prefill = 256"),
        (lambda: Fixed(0), r"repeat\.count = 0"),
        (lambda: Timed(0, 1), r"repeat\.total_s = 0"),
        (lambda: Timed(float("inf"), 1), r"repeat\.total_s = inf"),
        (lambda: Timed(float("nan"), 1), r"repeat\.total_s = nan"),
        (lambda: Timed(1, -1), r"repeat\.units = -1"),
        (lambda: Timed(1, 1, 0), r"repeat\.shares = 0"),
        (lambda: Derived(()), r"repeat\.of = \(\)"),
        (lambda: Verdict("great", "x"), r"state = 'great'.*one of held"),  # type: ignore[arg-type]
    ],
)
def test_impossible_parts_say_why(make: Any, text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        make()


CHANGES: list[dict[str, Any]] = [
    {"layout": Strided(32768, ncalls=5)},
    {"coll": False},
    {"ranks": 4},
    {"pointer": "explicit"},
    {"mem": Memory(8, 8)},
    {"access": ("write",)},
    {"open": Open(unique=True)},
    {"sync": "none"},
    {"repeat": Fixed(2)},
    {"repeat": Replay()},
    {"hints": Hints({"cb_nodes": "2"})},
    {"hints": Hints({}, {"cb_nodes": "2"})},
    {"metric": "aggregate"},
    {"etype": 8},
    {"after": "p1"},
]


def test_ids_follow_from_the_fields() -> None:
    # MODEL-01
    ids = {replace(ROW, **change).id for change in CHANGES} | {ROW.id}
    assert len(ids) == len(CHANGES) + 1
    assert all(id_.startswith("strided-32k@") for id_ in ids)
    assert replace(ROW, ranks=None).id == ROW.id
    assert replace(ROW, name="other").id == ROW.id.replace("strided-32k", "other")


def test_an_id_does_not_change_between_releases() -> None:
    # baselines are found by it
    assert ROW.id == "strided-32k@c4680f59"


def test_order_of_hints_does_not_matter() -> None:
    one, other = ({"a": "1", "b": "2"}, {"b": "2", "a": "1"})
    assert replace(ROW, hints=Hints(one)) == replace(ROW, hints=Hints(other))
    assert hash(Hints(one)) == hash(Hints(other))
    assert replace(ROW, hints=Hints(one)).id == replace(ROW, hints=Hints(other)).id


def test_rows_cross_processes() -> None:
    again = pickle.loads(pickle.dumps(ROW))
    assert again == ROW
    assert hash(again) == hash(ROW)


@pytest.mark.parametrize(
    ("opened", "background"),
    [
        (Open(), None),
        (Open(presize=True), 0),
        (Open(prealloc=True), 0),
        (Open(existing=True), 0),
        (Open(presize=True, prefill=0xEE), 0xEE),
    ],
)
def test_what_holes_hold(opened: Open, background: int | None) -> None:
    # GEN-05, GEN-06
    assert opened.background == background


@pytest.mark.parametrize(
    ("timed", "limit_s"),
    [(Timed(600, 4, 150), 16.0), (Timed(2700 / 3, 1, 192), 4.6875), (Timed(900, 0, 192), 0.0)],
)
def test_time_of_a_pattern(timed: Timed, limit_s: float) -> None:
    # BEFF-23
    assert timed.limit_s == limit_s


@pytest.mark.parametrize("state", get_args(State))
def test_a_verdict_is_true_unless_the_test_must_fail(state: State) -> None:
    verdict = Verdict(state, "strided-32k/read: 827 MiB/s, baseline 1074 MiB/s (-23 % [-27,-18])")
    assert bool(verdict) == (state not in ("regressed", "damaged"))
    assert repr(verdict) == verdict.sentence


def test_pytest_shows_the_sentence() -> None:
    with pytest.raises(AssertionError, match="x/read: 1 MiB/s"):
        assert Verdict("regressed", "x/read: 1 MiB/s")


def test_damage_is_one_sentence() -> None:
    # GEN-07
    assert str(Damage("f", 9, None, 3, 1, None, None, "too long")) == (
        "f: 1 wrong byte, first at offset 9: expected end of file, found 0x03; nobody writes here; too long"
    )
    assert str(Damage("f", 9, 255, None, 2, 0, 1, "short")) == (
        "f: 2 wrong bytes, first at offset 9: expected 0xff, found end of file; rank 0 writes here (call 1); short"
    )


def test_extents_know_their_calls() -> None:
    table = Extents(np.array([10, 0, 50]), np.array([4, 2, 8]), np.array([0, 2, 2, 3, 3]))
    assert table.call_count == 4
    assert table.call_bytes.tolist() == [6, 0, 8, 0]
    assert table.first_offsets.tolist() == [10, 0, 50, 0]
    assert (table.total_bytes, table.end) == (14, 58)
    assert table.shifted(5).offsets.tolist() == [15, 5, 55]
    assert table.shifted(0) is table
    with pytest.raises(ValueError, match="read-only"):
        table.offsets[0] = 1


def test_no_extents() -> None:
    none = np.empty(0, dtype=np.int64)
    table = Extents(none, none, np.array([0, 0]))
    assert (table.call_count, table.total_bytes, table.end) == (1, 0, 0)
    assert table.call_bytes.tolist() == table.first_offsets.tolist() == [0]


def test_tables_whose_parts_do_not_fit_are_refused() -> None:
    with pytest.raises(ParameterError, match="extents"):
        Extents(np.array([1, 2]), np.array([1]), np.array([0, 2]))
    with pytest.raises(ParameterError, match="extents"):
        Extents(np.array([1, 2]), np.array([1, 1]), np.array([0, 1]))


def test_samples_are_equally_long() -> None:
    one = (Spread(1, 2, 3, 4),)
    with pytest.raises(ParameterError, match="samples"):
        Samples((1, 2), one, one, one, one, (1.0,), (1.0,))
    assert plain(Samples((1,), one, one, one, one, (1.0,), (1.0,)))["elapsed_s"] == [1.0]  # type: ignore[index]
