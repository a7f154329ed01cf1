"""The judge and its sentences: every state from made-up nights, and what the operator's commands say."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_pario.baseline.calibrate import calibrate
from pytest_pario.baseline.judge import Judgement, judge
from pytest_pario.baseline.series import read_entry
from pytest_pario.baseline.site import read_rules
from pytest_pario.baseline.store import Night, Store
from pytest_pario.baseline.table import tabulate
from pytest_pario.cli import main
from pytest_pario.errors import ParameterError
from pytest_pario.report.verdicts import event_line, markdown_lines, sentence_of, terminal_lines, verdict_of
from tests.unit.baseline.nights import FIRST, content, entry, save_nights


def fallen(night: int, test: int) -> float:
    return 0.7 if test == 0 and night >= 25 else 1.0


def test_a_regression_says_how_much_since_when_and_what_changed(tmp_path: Path) -> None:
    store = save_nights(tmp_path, 30, fallen, lambda night: {"kernel": "6.1" if night < 25 else "6.9"})
    judgement = judge(store.read())
    assert [one.state for one in judgement.findings] == ["regressed"] + ["held"] * 5
    worst = judgement.findings[0]
    assert -0.36 < worst.low < worst.effect < worst.high < -0.22
    assert worst.since == "2026-01-26"
    sentence = sentence_of(worst)
    assert sentence.startswith("p0/read: 3")
    assert "since 2026-01-26, 5 nights; changed there: kernel: 6.1 -> 6.9" in sentence
    verdict = verdict_of(worst)
    assert not verdict
    assert repr(verdict) == sentence
    assert markdown_lines(judgement)[-1].startswith("| regressed | p0/read | -")


def test_tests_that_fall_together_are_one_event(tmp_path: Path) -> None:
    store = save_nights(tmp_path, 32, lambda night, test: 0.7 if night >= 25 else 1.0)
    judgement = judge(store.read())
    assert len(judgement.events) == 1
    assert len(judgement.events[0].findings) == 6
    assert "and 5 others of lustre:/scratch read" in event_line(judgement.events[0])
    assert all(one.by_group for one in judgement.events[0].findings)


def test_a_new_regression_is_not_hidden_by_an_old_one_or_by_damage(tmp_path: Path) -> None:
    begins = {0: 25, 1: 26, 3: 55}
    store = save_nights(tmp_path, 60, lambda night, test: 0.6 + 0.05 * test if night >= begins.get(test, 99) else 1.0)
    judgement = judge(store.read())
    assert [[one.series.name for one in event.findings] for event in judgement.events] == [["p0", "p1"], ["p3"]]
    told = terminal_lines(judgement)
    assert [line.split(":")[0] for line in told[:2]] == ["REGRESSED p0/read", "REGRESSED p3/read"]
    assert told[0].endswith("; and 1 other of lustre:/scratch read: p1/read")
    broken = [entry(f"p{test}", [(500.0 + 100 * test) * 0.7]) for test in range(1, 6)]
    broken[0]["extra_info"]["record"]["damage"] = "rank 1 read 7 for 3"
    store.save_night(content(broken), FIRST + datetime.timedelta(days=60))
    rows = [line for line in markdown_lines(judge(store.read())) if line.startswith(("| damaged", "| regressed"))]
    assert rows[0] == "| damaged | p1/read | - | - | - | rank 1 read 7 for 3 |"
    assert rows[1].startswith("| regressed | p0/read | - | -4")
    assert rows[1].endswith("| stands since 2026-01-26: not measured tonight |")
    assert any(row.startswith("| regressed | p3/read") for row in rows)


def test_a_young_history_is_learning_and_a_noisy_one_blind(tmp_path: Path) -> None:
    young = judge(save_nights(tmp_path / "a", 9).read())
    assert {one.state for one in young.findings} == {"learning"}
    assert sentence_of(young.findings[0]).endswith("learning: 6 more nights before it can be judged")
    noisy = judge(save_nights(tmp_path / "b", 40, noise=0.6).read())
    assert "blind" in {one.state for one in noisy.findings}
    assert "blind: only a fall of" in " ".join(sentence_of(one) for one in noisy.findings)


def test_wrong_bytes_come_before_speed(tmp_path: Path) -> None:
    store = save_nights(tmp_path, 20)
    broken = entry("p0", [500.0])
    broken["extra_info"]["moved_bytes"] = [0]
    store.save_night(content([broken]))
    judgement = judge(store.read())
    assert judgement.findings[0].state == "damaged"
    assert not verdict_of(judgement.findings[0])


def test_calibration_finds_the_least_fall(tmp_path: Path) -> None:
    calm, noisy = (calibrate(tabulate(save_nights(tmp_path / str(n), 40, noise=n).read())) for n in (0.02, 0.3))
    assert max(one.detectable for one in calm) < 0.15 < max(one.detectable for one in noisy)
    assert max(one.false for one in calm) < 1


@pytest.mark.parametrize(
    ("nights", "factor", "status"),
    [(30, None, 0), (30, fallen, 3), (5, None, 4)],
)
def test_the_status_of_check(tmp_path: Path, nights: int, factor: object, status: int) -> None:
    save_nights(tmp_path, nights, factor or (lambda night, test: 1.0))  # type: ignore[arg-type]
    assert main(["check", "--store", str(tmp_path)]) == status


def test_an_accepted_red_is_green_and_every_command_speaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_nights(tmp_path, 30, fallen, lambda night: {"kernel": "6.1" if night < 25 else "6.9"})
    store = ["--store", str(tmp_path)]
    assert main(["accept", "--all-red", "--reason", "by design", *store]) == 0
    assert "accepted p0@" in capsys.readouterr().out
    assert main(["check", "-v", *store]) == 0
    assert "p0/read: " in (told := capsys.readouterr().out)
    assert "accepted as the new level: by design" in told
    assert main(["history", "p0", *store]) == 0
    assert "kernel: 6.1 -> 6.9" in capsys.readouterr().out
    assert main(["nights", *store]) == 0
    assert "kernel: 6.1 -> 6.9  (6 series)" in capsys.readouterr().out
    assert main(["calibrate", *store]) == 0
    assert "false reds per 100 tests per night" in capsys.readouterr().out
    assert main(["check", "--markdown", *store]) == 0
    assert main(["history", "nothing", *store]) == 2
    assert main(["accept", "p1", "--reason", "x", *store]) == 2
    assert "for p1@" in capsys.readouterr().err


def whole_group(root: Path, hints: Callable[[int], dict[str, Any] | None]) -> Judgement:
    """Four nights of a fall of everything, with the hints that each night recorded."""
    store, rng = Store(root, "box"), np.random.default_rng(7)
    for night in range(34):
        entries = [
            entry(f"p{k}", [500.0 * np.exp(rng.normal(0, 0.02)) * (0.7 if night >= 30 else 1)]) for k in range(5)
        ]
        for one in entries:
            told = hints(night)
            if told is not None:
                one["extra_info"]["record"]["facts"]["hints"] = {"accepted": told}
        store.save_night(content(entries), FIRST + datetime.timedelta(days=night))
    return judge(store.read())


def test_a_hint_that_appears_is_a_change(tmp_path: Path) -> None:
    added = {"striping_factor": "1"}
    found = whole_group(tmp_path / "added", lambda night: added if night >= 30 else {})
    assert {one.state for one in found.findings} == {"regressed"}
    assert "changed there: hint.striping_factor: unset -> 1" in sentence_of(found.findings[0])
    # a night that recorded no hints tells nothing of them
    silent = whole_group(tmp_path / "silent", lambda night: added if night >= 30 else None)
    assert "regressed" not in {one.state for one in silent.findings}


def test_two_tests_of_one_series_are_told_and_kept_apart(tmp_path: Path) -> None:
    store, rng = Store(tmp_path, "box"), np.random.default_rng(8)
    for night in range(32):
        entries = [entry(f"p{k}", [500.0 * np.exp(rng.normal(0, 0.02))]) for k in range(5)]
        slow = entry("p0", [300.0 * np.exp(rng.normal(0, 0.02)) * (0.7 if night >= 25 else 1)])
        slow["fullname"] = "suites/test_it.py::test[slow]"
        # the second test came later, and the first did not run tonight
        store.save_night(
            content([*entries, slow] if 8 <= night < 31 else [*entries[1:], slow] if night == 31 else entries),
            FIRST + datetime.timedelta(days=night),
        )
    judgement = judge(store.read())
    (red,) = [one for one in judgement.findings if one.state == "regressed"]
    assert (red.fullname, red.series.name) == ("suites/test_it.py::test[slow]", "p0 of suites/test_it.py::test[slow]")
    assert [one.name for one in judgement.absent] == ["p0 of suites/test_it.py::test[p0-read]"]
    told = "\n".join(terminal_lines(judgement))
    assert "measured the same series as another test and are kept apart by their names" in told
    assert "suites/test_it.py::test[slow]" in told


def test_a_record_alone_is_known_by_its_test_and_few_tests_are_told(tmp_path: Path) -> None:
    store = Store(tmp_path, "box")
    for night in range(20):
        one = entry("p0", [500.0 + night % 3])
        one["extra_info"]["label"] = "mine"
        store.save_night(content([one]), FIRST + datetime.timedelta(days=night))
    shelf = store.read()
    told = terminal_lines(judge(shelf))
    assert told[0].startswith("lustre:/scratch read has only 1 test: three or more")
    sample = read_entry(entry("p0", [500.0]))
    assert sample is not None
    tonight = Night(Path("tonight"), "2026-02-01", (sample,))
    (found,) = judge(dataclasses.replace(shelf, nights=(*shelf.nights, tonight)), alone=True).findings
    assert (found.state, found.series.kind) == ("held", "uncached, mine")


def test_a_baseline_that_can_never_be_full_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rules.ini").write_text("[rules]\nbaseline_nights = 8\n")
    with pytest.raises(ParameterError, match="learning for ever"):
        read_rules(tmp_path / "rules.ini")
    (tmp_path / "rules.ini").write_text("[rules]\nbaseline_nights = 8\nbaseline_least = 8\n")
    assert read_rules(tmp_path / "rules.ini")[0].baseline_least == 8
