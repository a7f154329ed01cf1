"""The bench of the verdict: it reads nights, finds what was put in, and prints every table."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from pytest_pario.baseline.replay import replay
from pytest_pario.baseline.rules import DEFAULT
from pytest_pario.bench.verdict import SHIPPED, run_verdict_bench
from pytest_pario.bench.verdict_data import NIGHTLY, Nights, read_nights
from pytest_pario.bench.verdict_lasting import lasting_falls
from pytest_pario.bench.verdict_pairs import ORDERS, score_order
from pytest_pario.bench.verdict_record import record_noise
from pytest_pario.bench.verdict_score import PEERS, Score, margins_of, score_gate, score_peer
from pytest_pario.bench.verdict_union import operator_year, score_union
from pytest_pario.errors import ParameterError


def write_year(path: Path, nights: int = 220, fall: float = 1.0) -> None:
    """Six series of a filesystem; the first falls on night 120 and moves no bytes on night 50."""
    rng = np.random.default_rng(1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(NIGHTLY)
        for night in range(nights):
            for test in range(6):
                rate = (1000 + test) * np.exp(rng.normal(0, 0.04)) * (fall if test == 0 and night >= 120 else 1)
                gib = 0 if (test, night) == (0, 50) else 10
                writer.writerow(["s", "fs", f"app{test}", "shared", "read", 8, night * 86400, gib, rate])


def test_a_lasting_fall_is_found_and_dated(tmp_path: Path) -> None:
    write_year(tmp_path / "year.csv", fall=0.7)
    (nights,) = read_nights(tmp_path)
    assert nights.logs.shape == (220, 6)
    assert np.isnan(nights.logs[50, 0])  # bytes are checked before speed
    assert nights.tuning.tolist() == [True, False] * 3
    lines = lasting_falls(nights, operator_year(nights))
    assert lines[-1] == "1 of 1 found, 1 of them dated within 2 nights of the test"
    assert "red on night 5, dated" in lines[0]


def test_every_table_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_year(tmp_path / "year.csv")
    assert run_verdict_bench(tmp_path) == 0
    told = capsys.readouterr().out
    for words in (
        "final half",
        "pario, explained",
        "pario, calm, reads",
        "plain group, window 3",
        "Conbench",
        "verdict, unexplained",
        "its events, explained",
        "cover of the 90%",
        "judging 500 tests",
    ):
        assert words in told


def test_shipped_noise_is_what_the_recorder_writes(tmp_path: Path) -> None:
    record_noise(tmp_path / "own.csv", [tmp_path], 1, pause_s=0)
    (own,), (shipped,) = read_nights(tmp_path), read_nights(SHIPPED)
    assert len(own.labels) == 6
    assert shipped.logs.shape == (60, 12)
    with pytest.raises(ParameterError, match="a new file"):
        record_noise(tmp_path / "own.csv", [tmp_path], 2)


def test_comparisons_are_decided_as_the_product_decides_them() -> None:
    rng = np.random.default_rng(3)
    logs = rng.normal(0, 0.3, (60, 1, 2)) + rng.normal(0, 0.03, (60, 6, 2))
    tables = (logs[:, :, 0], logs[:, :, 1])
    nights = Nights("x", ("a", "b"), np.zeros(2, int), ("g",), np.median(logs, axis=1), tables)
    row = score_order(nights, ORDERS[0], 2, 60, 20).split()
    assert row[-8:] == ["0.00", "100", "100/100/100/100", *row[-5:]]
    assert score_order(nights, ORDERS[0], 3, 60, 20) == ""  # more tests than series


def test_a_directory_without_nights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="a CSV file of columns"):
        read_nights(tmp_path)


def test_a_rule_that_always_alarms_is_scored_so(tmp_path: Path) -> None:
    write_year(tmp_path / "year.csv")
    (nights,) = read_nights(tmp_path)
    score = score_peer(PEERS[2], nights.logs, np.ones(6, bool), 3, all_false=True)
    assert score.false < 3
    assert score.found[3] == 100


def score_unexplained(falls: dict[int, tuple[slice, float]]) -> Score:
    """Six steady series of a group, of which some fall for some nights."""
    logs = np.random.default_rng(2).normal(0, 0.02, (120, 6))
    for column, (nights, fall) in falls.items():
        logs[nights, column] += fall
    seen = replay(logs, np.zeros(6, int), keep_out=False)
    trace = seen.unexplained
    return score_gate("x", seen, trace, lambda column: margins_of(DEFAULT.unexplained, trace, column), np.ones(6, bool))


def test_the_union_counts_a_slump_of_a_group_for_each_test_and_as_one_event() -> None:
    logs = np.random.default_rng(2).normal(0, 0.02, (120, 6))
    logs[60:69] -= 0.4
    nights = Nights("x", tuple("abcdef"), np.zeros(6, int), ("g",), logs)
    tests, events = score_union(nights, np.ones(6, bool), "unexplained")
    assert tests.false == pytest.approx(6 * events.false)
    assert events.false > 0
    assert tests.found[3] > 90
    assert events.found[3] > 90  # of the whole group


def test_a_fall_is_false_if_it_was_gone_within_14_nights() -> None:
    assert score_unexplained({}).false == 0
    assert score_unexplained({0: (slice(60, 120), -0.4)}).false == 0  # it lasts
    short = score_unexplained({0: (slice(60, 67), -0.4)})
    assert short.false > 0
    assert short.slumps == short.false  # nobody could have known that it would not last
    small = score_unexplained({0: (slice(60, 67), -0.15)})
    assert small.false > 0
    assert small.slumps == 0
    assert small.interval[0] <= small.false <= small.interval[1]


def test_strictly_a_fall_that_others_share_later_is_false_too() -> None:
    # five nights alone, then the whole group goes down with it: beside its control the test is back
    shared = {column: (slice(65 if column else 60, 120), -0.4) for column in range(6)}
    score = score_unexplained(shared)
    assert score.false == 0
    assert score.strict > 0
