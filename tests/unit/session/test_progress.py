"""What a user of `pario run` sees: on a terminal, in a log."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from pytest_pario.session.journal import Journal
from pytest_pario.session.progress import Display, JournalTail


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    made = Journal(tmp_path / "j.jsonl")
    made.write("session", schema=1, ranks=2)
    made.write("selected", count=12)
    made.write("start", nodeid="test_a.py::test_x")
    return made


def test_progress_is_a_sentence(journal: Journal) -> None:
    tail = JournalTail(journal.path)
    tail.read()
    assert tail.sentence() == "0 of 12 finished; test_a.py::test_x for 0 s"
    journal.write("end", nodeid="test_a.py::test_x", outcome="failed")
    tail.read()
    assert tail.sentence() == "1 of 12 finished, 1 failed"


def test_half_a_line_waits_for_its_rest(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text('{"event":"sel')
    tail = JournalTail(path)
    tail.read()
    with path.open("a") as file:
        file.write('ected","count":3}\n')
    tail.read()
    assert tail.sentence() == "0 of 3 finished"


def test_a_log_gets_the_output_as_it_is(journal: Journal) -> None:
    log = io.StringIO()
    display = Display(log, journal.path, 1)
    display.write(b"collected 3 items\n..")
    display.tick()
    display.close()
    assert log.getvalue() == "collected 3 items\n..\n"


def test_a_terminal_gets_a_status_behind_the_open_line(journal: Journal) -> None:
    terminal = Terminal()
    display = Display(terminal, journal.path, 2)
    display.tick()
    display.write(b"done\ntest_a.py ..")
    shown = terminal.getvalue()
    assert "done\n" in shown
    assert shown.rstrip().endswith("s]")
    assert "test_a.py .. [job 2: 0 of 12 finished" in shown
    display.close()
    assert terminal.getvalue().endswith("\r\x1b[Ktest_a.py ..\n")


def test_broken_bytes_do_not_stop_the_display(journal: Journal) -> None:
    log = io.StringIO()
    display = Display(log, journal.path, 1)
    display.write(b"\xff\xfe ok \xc3")
    display.write(b"\xa9\n")
    assert "ok é" in log.getvalue()


def test_a_reader_that_is_gone_is_noticed_once_and_then_nothing_is_written(journal: Journal) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as stream:
        shown = Display(stream, journal.path, 1)
        shown.write(b"first\n")
        assert shown.is_lost
        shown.write(b"second\n")
        shown.close()
