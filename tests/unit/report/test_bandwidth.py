"""The bandwidth table: rates, more is better, and what a reader must know of each."""

from __future__ import annotations

from pytest_pario.report.bandwidth import BandwidthRow, dropped_hints, format_rows, median_before, note_of, rates_of


def test_rates_are_of_each_round() -> None:
    assert rates_of([1 << 20, 2 << 20], [1.0, 0.5]) == (1.0, 4.0)


def test_change_is_of_the_median_and_plus_is_faster() -> None:
    lines = format_rows([BandwidthRow("faster", 4, (12.0, 11.0, 13.0), before=10.0), BandwidthRow("new", 4, (5.0,))])
    assert lines[0].split() == ["MiB/s", "ranks", "median", "min", "max", "rounds", "before", "change"]
    assert lines[1].split() == ["faster", "4", "12.0", "11.0", "13.0", "3", "10.0", "+20.0%"]
    assert lines[2].split() == ["new", "4", "5.0", "5.0", "5.0", "1"]


def test_what_was_saved_is_compared_by_its_own_bytes() -> None:
    saved = {"extra_info": {"moved_bytes": [1 << 20] * 3}, "stats": {"data": [1.0, 0.5, 0.25], "median": 0.5}}
    assert median_before(saved) == 2.0
    assert median_before({"extra_info": {"moved_bytes": [1 << 20] * 3}, "stats": {"median": 0.5}}) == 2.0
    assert median_before({"extra_info": {}, "stats": {"median": 0.5}}) is None


def test_a_read_tells_its_caches() -> None:
    facts = {"cache": {"state": "client-cold"}, "hints": {"dropped": {"IBM_largeblock_io": "true"}}}
    record = {"phase": "read", "facts": facts, "flags": ["oversubscribed"]}
    assert note_of(record) == "client-cold, oversubscribed"
    assert note_of({**record, "phase": "rewrite"}) == "oversubscribed"
    assert note_of({}) == ""


def test_a_rate_over_computing_is_labelled() -> None:
    # bytes by the time of steps and output stand in one table with rates of I/O
    record = {"phase": "write", "facts": {"mode": "solved"}, "flags": ["oversubscribed"]}
    assert note_of(record) == "computing included, oversubscribed"
    assert note_of({**record, "facts": {"mode": "replay"}}) == note_of({**record, "phase": "read"}) == "oversubscribed"


def test_dropped_hints_are_told_once() -> None:
    record = {"facts": {"hints": {"dropped": {"IBM_largeblock_io": "true"}}}}
    assert dropped_hints([record, record, {}]) == ["hints that the library dropped: IBM_largeblock_io (2 tests)"]
    assert dropped_hints([{}]) == []
