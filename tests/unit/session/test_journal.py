from __future__ import annotations

from pathlib import Path

import pytest

from pytest_pario.errors import JournalError
from pytest_pario.session.journal import Journal, append_line, default_path, read_entries, read_history


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    made = Journal(tmp_path / "new" / "journal.jsonl")
    made.write("session", schema=1, ranks=4, processes=[])
    made.write("selected", count=3)
    return made


def test_a_started_test_without_end_is_the_one_the_job_died_in(journal: Journal) -> None:
    journal.write("start", nodeid="a")
    journal.write("end", nodeid="a", outcome="passed", reports=[])
    journal.write("start", nodeid="b")
    history = read_history(journal.path)
    assert list(history.finished) == ["a"]
    assert history.running == "b"
    assert (history.ranks, history.selected, history.exitstatus) == (4, 3, None)


def test_a_new_job_in_the_same_journal_forgets_how_the_last_one_ended(journal: Journal) -> None:
    journal.write("start", nodeid="b")
    append_line(journal.path, {"event": "abort", "nodeid": "b"}, durable=True)
    journal.write("session", schema=1, ranks=4)
    history = read_history(journal.path)
    assert (history.abort, history.running) == (None, None)


def test_a_torn_last_line_is_what_a_killed_job_leaves(journal: Journal) -> None:
    with journal.path.open("a") as file:
        file.write('{"event":"end","nodeid":"a","outc')
    assert read_history(journal.path).finished == {}


def test_a_torn_line_in_the_middle_is_named(journal: Journal) -> None:
    with journal.path.open("a") as file:
        file.write('{"event":"en\n{"event":"start","nodeid":"a"}\n')
    with pytest.raises(JournalError, match=r"journal.jsonl:3 is not a journal line"):
        read_history(journal.path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"event":"session","schema":99}\n', "has schema 99; this release reads 1"),
        ('{"event":"start","nodeid":"a"}\n', "is not a journal"),
        ("hello\n", "is not a journal line"),
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "foreign"
    path.write_text(text)
    with pytest.raises(JournalError, match=message):
        list(read_entries(path))


def test_a_missing_journal_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"cannot read journal .*nowhere: No such file"):
        read_history(tmp_path / "nowhere")


def test_an_empty_journal_is_a_job_that_did_not_begin(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    assert read_history(path).ranks is None


def test_the_default_lies_below_the_rootdir(tmp_path: Path) -> None:
    assert default_path(tmp_path).parent == tmp_path / ".pario"
    assert default_path(Path("/proc")).parent != Path("/proc/.pario")
