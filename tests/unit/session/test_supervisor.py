"""`pario run` with stand-ins for mpiexec: what it makes of a job's journal and status."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_pario.errors import JournalError, ParameterError
from pytest_pario.session.journal import Journal, JournalLock, read_history
from pytest_pario.session.launcher import Launcher
from pytest_pario.session.processes import host_key, start_time
from pytest_pario.session.supervisor import Supervisor, supervise

JOB = """
import os, sys
from pathlib import Path
from pytest_pario.session.journal import Journal

token, _, path = sys.argv[2].partition("=")[2].partition(":")  # env PARIO_SUPERVISED=TOKEN:JOURNAL python ...
journal = Journal(Path(path))
journal.write("session", schema=1, ranks=2, supervisor=token)
"""


@pytest.fixture
def own_signals() -> Iterator[None]:
    kept = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for one, handler in kept.items():
        signal.signal(one, handler)


def run(tmp_path: Path, job: str, *arguments: str, resume: Path | None = None) -> int:
    (tmp_path / "job.py").write_text(job)
    launcher = Launcher((sys.executable, str(tmp_path / "job.py")))
    journal = None if resume else tmp_path / "j.jsonl"
    return supervise(launcher, 2, list(arguments), journal, resume)


@pytest.mark.usefixtures("own_signals")
@pytest.mark.parametrize(
    ("last_words", "status"),
    [
        ("journal.write('finish', exitstatus=0)", 0),
        ("journal.write('finish', exitstatus=0); sys.exit(5)", 5),
        ("journal.write('finish', exitstatus=0); os.kill(os.getpid(), 9)", 128 + signal.SIGKILL),
        ("journal.write('finish', exitstatus=1); sys.exit(86)", 1),
        ("sys.exit(0)", 3),
    ],
)
def test_a_job_that_failed_is_never_a_success(tmp_path: Path, last_words: str, status: int) -> None:
    assert run(tmp_path, JOB + last_words) == status


@pytest.mark.usefixtures("own_signals")
def test_informing_options_need_no_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "print('markers')", "--markers") == 0
    assert run(tmp_path, "raise SystemExit(4)", "--markers") == 4
    assert run(tmp_path, "print('nothing')") == 3
    assert "outside of any test; giving up: no test finished; 0 tests are in" in capsys.readouterr().out


AGAIN = """
number = len(journal.path.read_text().split("session")) - 1
if number < LAST:
    journal.write("start", nodeid=f"t.py::t{number}")
    journal.write("end", nodeid=f"t.py::t{number}", outcome="passed", reports=[])
journal.write("start", nodeid="t.py::spoiled")
journal.write("stop", reason="ranks 0,1: no communicator is left", nodeid=None, again=True)
journal.write("finish", exitstatus=2)
sys.exit(2)
"""


@pytest.mark.usefixtures("own_signals")
def test_a_job_that_lacks_something_is_followed_by_another_while_that_helps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, JOB + AGAIN.replace("LAST", "3")) == 2
    told = capsys.readouterr().out
    assert "the rest goes on in job 3" in told
    assert "job 3 was stopped: ranks 0,1: no communicator is left: 2 passed" in told
    assert set(read_history(tmp_path / "j.jsonl").finished) == {"t.py::t1", "t.py::t2"}  # nobody was convicted


@pytest.mark.usefixtures("own_signals")
def test_a_hang_outside_of_any_test_is_nobodys_fault_and_not_tried_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hang = "journal.write('abort', nodeid=None, diagnosis='no end of the session (collection)'); sys.exit(1)"
    assert run(tmp_path, JOB + hang) == 1
    assert "job 1 ended with status 1 outside of any test; giving up" in capsys.readouterr().out
    assert read_history(tmp_path / "j.jsonl").finished == {}


@pytest.mark.usefixtures("own_signals")
def test_a_journal_that_takes_no_verdict_ends_the_run_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, *_: object, **__: object) -> None:
        raise JournalError(f"journal {path} cannot be written: Disk quota exceeded")

    monkeypatch.setattr("pytest_pario.session.supervisor.append_line", full)
    assert run(tmp_path, JOB + "journal.write('start', nodeid='t.py::t'); sys.exit(5)") == 5
    told = capsys.readouterr().out
    assert "job 1 ended with status 5 in t.py::t, and journal" in told
    assert "cannot be written: Disk quota exceeded: no test finished" in told


@pytest.mark.usefixtures("own_signals")
def test_how_an_earlier_run_ended_is_not_how_this_one_does(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    journal = Journal(path)
    journal.write("session", schema=1, ranks=2, supervisor="earlier")
    journal.write("start", nodeid="t.py::t")
    journal.write("finish", exitstatus=0)
    assert run(tmp_path, "raise SystemExit(4)", resume=path) == 4
    assert read_history(path).finished == {}


def test_ranks_of_another_run_are_left_alone(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    me = {"pid": os.getpid(), "boot": host_key(), "started": start_time(os.getpid())}
    journal.write("session", schema=1, ranks=2, processes=[me], supervisor="another")
    ours = Supervisor(Launcher(("mpiexec",)), 2, [], journal.path, resumes=True, token="ours")
    assert ours._processes() == []
    journal.write("session", schema=1, ranks=2, processes=[me], supervisor="ours")
    assert ours._processes() == [me]


def test_a_journal_that_another_run_writes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    Journal(path).write("session", schema=1, ranks=2)
    lock = JournalLock(path, resumes=True)
    with pytest.raises(JournalError, match="is being written by another run"):
        run(tmp_path, JOB, resume=path)
    lock.release()


@pytest.mark.parametrize("argument", ["--pario-journal=x", "--pario-resume"])
def test_the_journal_is_named_by_our_own_options(tmp_path: Path, argument: str) -> None:
    with pytest.raises(ParameterError, match=r"left to pario run; write --(journal|resume) FILE"):
        run(tmp_path, JOB, argument)
