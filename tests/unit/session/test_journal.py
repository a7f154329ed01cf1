from __future__ import annotations

import errno
from pathlib import Path

import pytest

from pytest_pario.errors import JournalError
from pytest_pario.session.journal import (
    SUPERVISED,
    Journal,
    JournalLock,
    append_line,
    default_path,
    read_entries,
    read_history,
    supervisor_of,
)

SESSION = '{"event":"session","schema":1,"ranks":4}\n'


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


def test_a_torn_line_is_cut_off_before_the_journal_is_continued(journal: Journal) -> None:
    for _ in range(3):  # tear, resume, and again
        with journal.path.open("a") as file:
            file.write('{"event":"end","nodeid":"a","outc' + "x" * 70_000)
        Journal(journal.path).write("session", schema=1, ranks=4)
    with journal.path.open("a") as file:
        file.write('{"event":"st')
    append_line(journal.path, {"event": "stop", "reason": "SIGTERM", "nodeid": None}, durable=True)
    assert [entry["event"] for entry in read_entries(journal.path)] == ["session", "selected", *["session"] * 3, "stop"]


def test_a_file_of_one_torn_line_becomes_an_empty_journal(tmp_path: Path) -> None:
    path = tmp_path / "torn"
    path.write_text('{"event":"session","sch')
    Journal(path).write("session", schema=1, ranks=2)
    assert read_history(path).ranks == 2


def test_a_journal_belongs_to_one_run_at_a_time(journal: Journal) -> None:
    lock = JournalLock(journal.path, resumes=True)
    with pytest.raises(JournalError, match=r"journal.jsonl is being written by another run; wait for its end"):
        JournalLock(journal.path, resumes=True)
    lock.release()
    JournalLock(journal.path, resumes=True).release()
    assert read_history(journal.path).ranks == 4


def test_without_locks_of_the_filesystem_a_journal_is_used_as_it_is(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    first, second = (JournalLock(journal.path, resumes=True) for _ in range(2))
    first.release()
    second.release()


def test_a_journal_in_which_nothing_was_written_is_not_left_behind(tmp_path: Path) -> None:
    JournalLock(tmp_path / "new.jsonl", resumes=False).release()
    assert not (tmp_path / "new.jsonl").exists()
    with pytest.raises(JournalError, match=r"cannot read journal .*new.jsonl: No such file"):
        JournalLock(tmp_path / "new.jsonl", resumes=True)


def test_only_the_supervisor_of_this_journal_is_ours(tmp_path: Path) -> None:
    path = tmp_path / "j:1.jsonl"
    assert supervisor_of(path, {SUPERVISED: f"token:{path}"}) == "token"
    assert supervisor_of(tmp_path / "other", {SUPERVISED: f"token:{path}"}) is None
    assert supervisor_of(path, {}) is None


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
        ('{"event":"session","schema":1}\n', ":1: 'session' has ranks = None, which is no int"),
        ('{"event":"session","schema":1,"ranks":"4"}\n', ":1: 'session' has ranks = '4', which is no int"),
        (SESSION + '{"event":"end","nodeid":"a","reports":[]}\n', ":2: 'end' has outcome = None, which is no str"),
        (SESSION + '{"event":"end","nodeid":"a","outcome":"passed"}\n', ":2: 'end' has neither reports nor abort"),
        (SESSION + '{"event":"finish","exitstatus":"0"}\n', ":2: 'finish' has exitstatus = '0', which is no int"),
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "foreign"
    path.write_text(text)
    with pytest.raises(JournalError, match=message):
        list(read_entries(path))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error_in_a_sentence() -> None:
    journal, told = Journal(Path("/dev/full")), "journal /dev/full cannot be written: No space left on device"
    with pytest.raises(JournalError, match=told):
        journal.write("session", schema=1)
    with pytest.raises(JournalError, match=told):
        append_line(journal.path, {"event": "stop"}, durable=True)


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
