"""What an operator is told: failures, series that vanished, names that match too much, rules of the site."""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path

import pytest

from pytest_pario.baseline.judge import NO_PEERS, judge
from pytest_pario.baseline.rules import DEFAULT
from pytest_pario.baseline.site import read_rules
from pytest_pario.baseline.store import Failure, Shelf, Store
from pytest_pario.cli import main
from pytest_pario.errors import ParameterError, StoreError
from pytest_pario.report.verdicts import markdown_lines, sentence_of, terminal_lines
from pytest_pario.session.operator import exit_status
from tests.unit.baseline.nights import MOVED, content, entry, save_nights


def one_fallen(night: int, test: int) -> float:
    return 0.7 if test == 1 and night >= 30 else 1.0


def tonight(shelf: Shelf, *names: str) -> Shelf:
    """The last night with these patterns only."""
    last = shelf.nights[-1]
    kept = tuple(one for one in last.samples if one.series.name in names)
    return dataclasses.replace(shelf, nights=(*shelf.nights[:-1], dataclasses.replace(last, samples=kept)))


# --- what failed, what is missing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "word"), [("damaged", "damaged: p0: 64 wrong bytes"), ("failed", "FAILED suites/")])
def test_failures_of_a_night_are_told_whatever_was_measured(tmp_path: Path, kind: str, word: str) -> None:
    store = save_nights(tmp_path, 20)
    failure = Failure("suites/test_it.py::test[p0-read]", kind, "p0: 64 wrong bytes")  # type: ignore[arg-type]
    store.save_night(content([entry("p1", [600.0])]), failures=[failure])
    judgement = judge(store.read())
    assert word in "\n".join(terminal_lines(judgement))
    assert exit_status(judgement) == 1
    assert {one.name for one in judgement.absent} == {"p2", "p3", "p4", "p5"}  # p0 is not absent: it failed
    if kind == "damaged":
        assert judgement.findings[0].series.short == "p0/read"


def test_a_night_on_which_everything_failed_is_a_night(tmp_path: Path) -> None:
    store = Store(tmp_path, "box")
    store.save_night(
        content([]), failures=[Failure("t.py::a", "damaged", "a: wrong"), Failure("t.py::b", "failed", "x")]
    )
    judgement = judge(store.read())
    assert exit_status(judgement) == 1
    assert terminal_lines(judgement)[-1].endswith("1 failed, 1 damaged")
    assert "- failed: t.py::b: x" in markdown_lines(judgement)
    for command in (["check"], ["nights"], ["calibrate"]):
        assert main([*command, "--store", str(tmp_path)]) == (1 if command == ["check"] else 0)


def test_a_standing_red_that_is_not_measured_stands(tmp_path: Path) -> None:
    shelf = tonight(save_nights(tmp_path, 37, one_fallen).read(), "p0", "p2", "p3", "p4")
    judgement = judge(shelf)
    assert exit_status(judgement) == 3
    assert sentence_of(judgement.events[0].findings[0]).endswith(
        "since 2026-01-31, 6 nights; stands: not measured tonight"
    )
    assert [one.name for one in judgement.absent] == ["p5"]


def test_a_red_or_healthy_test_without_peers_says_so(tmp_path: Path) -> None:
    shelf = save_nights(tmp_path, 37, one_fallen).read()
    red = judge(tonight(shelf, "p1"))
    assert exit_status(red) == 3
    assert NO_PEERS in sentence_of(red.events[0].findings[0])
    healthy = save_nights(tmp_path / "b", 37).read()
    told = terminal_lines(judge(tonight(healthy, "p0")))
    assert f"1 not judged: {NO_PEERS}: p0/read" in told
    assert "5 series of the nights before were not measured tonight: p1/read, p2/read, p3/read and 2 more" in told


def test_renamed_tests_vanish_aloud(tmp_path: Path) -> None:
    store = save_nights(tmp_path, 20)
    store.save_night(content([entry(f"q{k}", [500.0]) for k in range(6)]))
    judgement = judge(store.read())
    assert exit_status(judgement) == 4
    assert any(line.startswith("6 series of the nights before were not measured") for line in terminal_lines(judgement))


def test_a_newest_night_that_cannot_be_read_is_not_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_nights(tmp_path, 30)
    where = ["--store", str(tmp_path)]
    assert main(["check", *where]) == 0
    newest = max((tmp_path / "box").glob("*.json"))
    newest.write_text("[" * 100_000)
    assert main(["check", *where]) == 4
    told = capsys.readouterr().out
    assert f"{newest}: nested too deep" in told
    assert "the newest night could not be read" in told
    newest.unlink()
    (tmp_path / "box" / "notes.json").write_text("{}")  # no night by its name
    assert main(["check", *where]) == 0


# --- yellow ---------------------------------------------------------------------------------------------------------


def test_yellow_tells_tonight_and_not_the_window(tmp_path: Path) -> None:
    shelf = save_nights(tmp_path, 31, lambda night, test: 0.5 if test == 0 and night >= 29 else 1.0).read()
    (yellow,) = [one for one in judge(shelf).findings if one.state == "yellow"]
    assert yellow.rate == pytest.approx(250, rel=0.15)
    assert -0.58 < yellow.effect < -0.42
    assert sentence_of(yellow).endswith("yellow: low for 2 nights; not measured again")
    last = shelf.nights[-1]
    again = tuple(dataclasses.replace(one, again=(260.0, 270.0, 280.0)) for one in last.samples)
    shelf = dataclasses.replace(shelf, nights=(*shelf.nights[:-1], dataclasses.replace(last, samples=again)))
    (yellow,) = [one for one in judge(shelf).findings if one.state == "yellow"]
    assert sentence_of(yellow).endswith("low for 2 nights; again: 270 MiB/s")


# --- accept -----------------------------------------------------------------------------------------------------------


def test_a_name_is_not_taken_for_the_beginning_of_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_nights(tmp_path, 36, one_fallen, tests=12)
    where = ["--reason", "x", "--store", str(tmp_path)]
    assert main(["accept", "p1", *where]) == 0
    assert capsys.readouterr().out.count("accepted ") == 1
    assert main(["accept", "read", "--since", "2026-01-31", *where]) == 2
    assert "p10@" in capsys.readouterr().err
    assert main(["accept", "p1?@*", "--since", "2026-01-31", *where]) == 0
    assert capsys.readouterr().out.count("accepted ") == 2


def test_nothing_is_accepted_where_one_of_them_cannot_be(tmp_path: Path) -> None:
    save_nights(tmp_path, 36, one_fallen)
    assert main(["accept", "p*", "--reason", "x", "--store", str(tmp_path)]) == 2  # p0 is not red
    assert not list((tmp_path / "box").glob("*.accept"))


def test_commands_name_their_own_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--store", str(tmp_path)]) == 2
    assert main(["check", "--store", str(tmp_path), "--machine", "a/b"]) == 2
    told = capsys.readouterr().err
    assert told.count("--machine = ") == 2
    assert "--pario-machine" not in told


@pytest.mark.parametrize(("step_s", "since"), [(1200, "2026-01-01 10:00"), (3, "2026-01-01 00:01")])
def test_a_level_is_accepted_from_its_run_where_a_day_has_many(
    step_s: int, since: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_nights(tmp_path, 40, one_fallen, step=datetime.timedelta(seconds=step_s))
    where = ["--store", str(tmp_path)]
    assert main(["check", *where]) == 3
    assert f"since {since}" in capsys.readouterr().out
    assert main(["accept", "--all-red", "--reason", "x", *where]) == 0
    assert main(["check", *where]) == 0


def test_an_acceptance_that_does_not_help_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_nights(tmp_path, 36, one_fallen)
    where = ["--store", str(tmp_path)]
    # the level began later: its nights of before would be its baseline
    assert main(["accept", "p1", "--since", "2026-01-10", "--reason", "x", *where]) == 3
    assert "STILL RED: p1/read" in capsys.readouterr().out
    assert main(["accept", "p1", "--since", "2026-01-31 00:00", "--reason", "x", *where]) == 0


def test_no_bytes_are_the_damage_of_the_series_that_the_test_had(tmp_path: Path) -> None:
    store = save_nights(tmp_path, 20)
    empty = entry("p0", [1.0])
    empty["extra_info"]["moved_bytes"] = [0]
    store.save_night(content([empty, *(entry(f"p{k}", [500.0 + 100 * k]) for k in range(1, 6))]))
    judgement = judge(store.read())
    (damaged,) = [one for one in judgement.findings if one.state == "damaged"]
    assert (damaged.series.moved_bytes, damaged.damage) == (MOVED, "no bytes were moved")
    assert judgement.absent == ()
    assert exit_status(judgement) == 1


# --- rules of a site ------------------------------------------------------------------------------------------------


def test_a_site_moves_constants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_nights(tmp_path, 35, one_fallen, seed=3)
    where = ["--store", str(tmp_path)]
    assert main(["check", *where]) == 3
    text = "[rules]\nunexplained = calm ; rather wait\nbaseline_nights = 20\n[explained]\nspreads = 0.7\n"
    (tmp_path / "box" / "rules.ini").write_text(text)
    rules, told = read_rules(tmp_path / "box" / "rules.ini")
    assert rules.unexplained == DEFAULT.calm
    assert (rules.baseline_nights, rules.explained.spreads) == (20, 0.7)
    assert [one.split(" (")[0] for one in told] == [
        "unexplained = calm",
        "baseline_nights = 20",
        "explained.spreads = 0.7",
    ]
    capsys.readouterr()
    assert main(["check", *where]) == 0  # five nights are not seven
    assert "rule of this site: unexplained = calm" in capsys.readouterr().out
    assert main(["calibrate", *where]) == 0
    assert "rule of this site: unexplained = calm" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[rules]\nnonsense = 1\n", "rule = 'nonsense' .*rules.ini.*: must be one of explained"),
        ("[gate]\nnights = 1\n", "section = 'gate'"),
        ("[rules]\nunexplained = fast\n", "must be one of explained, unexplained, calm"),
        ("[rules]\nbaseline_nights = 0\n", "a whole number, 1 or more"),
        ("[rules]\nconfidence = 2\n", "at most 1"),
        ("[calm]\nexcused = 9\n", "fewer excused"),
        ("[calm]\nspreads = nan\n", "a number, 0 or more"),
    ],
)
def test_wrong_rules_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "rules.ini").write_text(text)
    with pytest.raises(ParameterError, match=message):
        read_rules(tmp_path / "rules.ini")


def test_a_file_that_holds_no_rules_is_named(tmp_path: Path) -> None:
    (tmp_path / "rules.ini").write_text("nonsense")
    with pytest.raises(StoreError, match=r"rules\.ini: cannot be read as rules"):
        read_rules(tmp_path / "rules.ini")


# --- the store --------------------------------------------------------------------------------------------------------


def test_a_store_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file", "box")
    with pytest.raises(StoreError, match=r"cannot save nights in .*file/box: Not a directory"):
        store.try_to_write()
    with pytest.raises(StoreError, match=r"cannot save .*: Not a directory"):
        store.save_night(content([]))
