"""Groups and their members: a fall of all stands, is dated, accepted and cleared like that of one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from pytest_pario.baseline.effect import begin_level, widening
from pytest_pario.baseline.judge import judge
from pytest_pario.baseline.rules import DEFAULT
from pytest_pario.baseline.store import Shelf, Store
from pytest_pario.baseline.table import tabulate
from pytest_pario.baseline.together import replay_nights, replay_together, split_accepts
from pytest_pario.cli import main
from pytest_pario.report.verdicts import sentence_of, terminal_lines
from tests.unit.baseline.nights import save_nights


def all_fallen(night: int, test: int) -> float:
    return 0.75 if night >= 30 else 1.0


def kernel(night: int) -> dict[str, str]:
    return {"kernel": "6.1" if night < 30 else "6.9"}


def until(shelf: Shelf, nights: int) -> Shelf:
    return dataclasses.replace(shelf, nights=shelf.nights[:nights])


def test_a_fall_of_a_whole_group_stands_with_its_date_and_its_cause(tmp_path: Path) -> None:
    shelf = save_nights(tmp_path, 100, all_fallen, kernel).read()
    for nights in (33, 47, 60, 100):
        findings = judge(until(shelf, nights)).findings
        assert {one.state for one in findings} == {"regressed"}
        assert {one.since for one in findings} == {"2026-01-31"}
        assert all(one.by_group and one.nights == nights - 30 for one in findings)
        assert all(-0.30 < one.effect < -0.20 for one in findings)
        assert "changed there: kernel: 6.1 -> 6.9" in sentence_of(findings[0])


def test_a_member_that_holds_is_not_red_with_its_group(tmp_path: Path) -> None:
    # p0 has a good night in every window: what the others do is no verdict on it
    shelf = save_nights(tmp_path, 40, lambda n, test: 0.75 if n >= 30 and (test or n % 3) else 1.0).read()
    judgement = judge(shelf)
    assert {one.series.name for one in judgement.findings if one.state == "regressed"} == {f"p{k}" for k in range(1, 6)}
    assert all(one.by_group for one in judgement.findings if one.state == "regressed")


def test_undoing_it_clears_the_group(tmp_path: Path) -> None:
    shelf = save_nights(tmp_path, 70, lambda night, _: 0.75 if 30 <= night < 60 else 1.0).read()
    assert {one.state for one in judge(until(shelf, 60)).findings} == {"regressed"}
    assert {one.state for one in judge(until(shelf, 62)).findings} <= {"held", "improved"}
    assert {one.state for one in judge(shelf).findings} == {"held"}


def test_a_group_is_accepted_at_once_and_its_next_fall_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--store", str(tmp_path)]
    save_nights(tmp_path, 40, all_fallen, kernel)
    assert main(["history", "p0", *where]) == 0
    assert capsys.readouterr().out.count("red with its group") == 8  # from the third night on
    assert main(["accept", "--all-red", "--reason", "new kernel", *where]) == 0
    assert capsys.readouterr().out.count("accepted p") == 6
    assert main(["check", *where]) == 0
    later = save_nights(tmp_path / "b", 75, lambda night, _: 1.0 if night < 30 else 0.75 if night < 60 else 0.5)
    accepted = dataclasses.replace(later.read(), acceptances=Store(tmp_path, "box").read().acceptances)
    assert {one.state for one in judge(until(accepted, 59)).findings} == {"held"}
    again = judge(accepted).findings
    assert {one.state for one in again} == {"regressed"}
    assert {one.since for one in again} == {"2026-03-02"}


def test_a_group_counts_as_accepted_with_half_of_its_members() -> None:
    groups = np.array([0, 0, 0, 0, 1, 1], np.int64)
    waves, single = split_accepts({0: [20], 1: [22], 2: [40], 4: [7]}, groups, 5)
    assert waves == {0: [22], 1: [7]}
    assert single == {2: [40]}


def test_tests_accepted_one_by_one_leave_the_group_in_peace(tmp_path: Path) -> None:
    shelf = save_nights(tmp_path, 90, lambda night, test: 0.7 if night >= 30 + 8 * test else 1.0, tests=6).read()
    table = tabulate(shelf)
    table = dataclasses.replace(table, accepts={test: [30 + 8 * test] for test in range(6)})
    seen = replay_together(table)
    assert not seen.groups.red[80:].any()
    assert not seen.red[85:].any()


def test_a_group_that_improves_is_one_line_and_not_blind(tmp_path: Path) -> None:
    shelf = save_nights(tmp_path, 60, lambda night, _: 1.4 if night >= 30 else 1.0, kernel).read()
    rising = judge(until(shelf, 36))
    assert {(one.state, one.since, one.by_group) for one in rising.findings} == {("improved", "2026-01-31", True)}
    assert len(terminal_lines(rising)) == 2
    assert {one.state for one in judge(shelf).findings} == {"held"}


def test_an_improvement_of_one_is_dated(tmp_path: Path) -> None:
    shelf = save_nights(tmp_path, 70, lambda night, test: 1.4 if night >= 30 and test == 1 else 1.0).read()
    for nights in (35, 40):
        assert {one.since for one in judge(until(shelf, nights)).findings if one.state == "improved"} == {"2026-01-31"}
    assert {one.state for one in judge(shelf).findings} == {"held"}


@pytest.mark.parametrize("whole", [False, True])
def test_a_red_of_most_of_a_year_stands(tmp_path: Path, whole: bool) -> None:
    shelf = save_nights(tmp_path, 260, lambda night, test: 0.7 if night >= 30 and (whole or test == 1) else 1.0).read()
    red = [one for one in judge(shelf).findings if one.state == "regressed"]
    assert len(red) == (6 if whole else 1)
    assert red[0].since == "2026-01-31"


def test_members_follow_a_group_of_which_too_few_ran(tmp_path: Path) -> None:
    shelf = save_nights(tmp_path, 40, all_fallen).read()
    last = shelf.nights[-1]
    few = dataclasses.replace(shelf, nights=(*shelf.nights[:-1], dataclasses.replace(last, samples=last.samples[:1])))
    judgement = judge(few)
    assert {one.state for one in judgement.findings} == {"regressed"}
    assert len(judgement.findings) == 6
    assert DEFAULT.control_peers == 2


def test_a_level_that_begins_in_nights_without_peers_is_dated_there() -> None:
    rng = np.random.default_rng(3)
    logs = rng.normal(0, 0.02, (45, 4))
    logs[30:, 0] += np.log(0.7)
    logs[30:34, 1:] = np.nan  # nobody to compare with on the first four nights
    seen = replay_nights(logs, np.zeros(4, np.int64))
    assert seen.red[-1].tolist() == [True, False, False, False]
    assert begin_level(seen, 0, DEFAULT) == 30


def test_intervals_are_wider_where_nights_resemble_the_next_ones() -> None:
    rng = np.random.default_rng(4)
    steady = rng.normal(0, 0.05, (80, 6))
    slow = steady.copy()
    for night in range(1, 80):
        slow[night] += 0.7 * slow[night - 1]
    widths = [widening(replay_nights(one, np.zeros(6, np.int64)), False, DEFAULT) for one in (steady, slow)]
    assert 1.0 <= widths[0] < 1.15 < widths[1]
    seen = replay_nights(steady, np.zeros(6, np.int64))
    assert widening(seen, True, DEFAULT) == pytest.approx(DEFAULT.dated_widening * widths[0])
