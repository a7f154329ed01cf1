"""`pario run`: start a job, follow it, and after an abort resume the rest in a new one, until all tests are done."""

from __future__ import annotations

import os
import secrets
import selectors
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_pario.errors import JournalError, ParameterError
from pytest_pario.session.journal import SUPERVISED, History, JournalLock, append_line, default_path, read_history
from pytest_pario.session.launcher import Launcher
from pytest_pario.session.processes import is_alive, kill_ranks
from pytest_pario.session.progress import Display, put

STOP_LIMIT_S = 20.0
"""How long a job may take to stop after a signal; then its processes are killed."""
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
OWN = {"--pario-journal": "--journal", "--pario-resume": "--resume"}
"""pytest's options that `pario run` sets itself -> how they are called here."""
INFORMING = {
    *("-h", "--help", "-V", "-VV", "--version", "--markers", "--cache-show"),
    *("--fixtures", "--funcargs", "--fixtures-per-test"),
}
"""Options with which pytest tells something and runs no test."""
LAST_OUTPUT = 2000
"""Characters of a job's output that are kept as evidence of an end without diagnosis."""


@dataclass
class Supervisor:
    """One `pario run`."""

    launcher: Launcher
    ranks: int
    pytest_args: list[str]
    journal: Path
    resumes: bool
    """The journal is an earlier run's."""
    signalled: int | None = None
    signalled_at: float = 0.0
    token: str = ""
    """Names the job that runs now, also in its first line of the journal."""

    def run(self) -> int:
        """Run jobs until every test is done; the exit status of `pario run`."""
        for signum in STOP_SIGNALS:
            if signum != signal.SIGHUP or signal.getsignal(signum) != signal.SIG_IGN:  # nohup means it
                signal.signal(signum, self._on_signal)
        job, finished_before = 1, len(self._history().finished)
        while True:
            status, output = self._run_job(job)
            history = self._history()
            if self.signalled is not None:
                self._say_end(f"stopped by {signal.Signals(self.signalled).name}", history)
                return 128 + self.signalled
            began = history.supervisor == self.token
            goes_on = began and history.again
            if began and not goes_on and history.exitstatus is not None:
                # the journal knows better why, but a job that failed after its last line did not succeed
                return history.exitstatus or status
            if began and history.stopped is not None and not (goes_on and len(history.finished) > finished_before):
                self._say_end(f"job {job} was stopped: {history.stopped}", history)
                return 2
            if status == 0 and INFORMING & set(self.pytest_args):
                return 0
            culprit = ((history.abort or {}).get("nodeid") or history.running) if began and not goes_on else None
            if culprit is None and (len(history.finished) <= finished_before or history.ranks is None):
                self._say_end(f"job {job} ended with status {status} outside of any test; giving up", history)
                return status or 3
            if culprit is not None:
                try:
                    self._convict(culprit, history, status, output)
                except JournalError as error:
                    self._say_end(f"job {job} ended with status {status} in {culprit}, and {error}", history)
                    return status or 3
            finished_before = len(history.finished)
            total = f" of {history.selected}" if history.selected else ""
            done = len(history.finished) + (culprit is not None)
            self._say(f"job {job} ended early; {done}{total} tests are finished, the rest goes on in job {job + 1}")
            job += 1

    # --- one job ------------------------------------------------------------------------------------------------

    def _run_job(self, job: int) -> tuple[int, str]:
        """Start and follow one job to its end; nothing of it is left behind."""
        follow = ["--pario-resume"] if job > 1 or self.resumes else ["--pario-journal"]
        self.token = secrets.token_hex(8)
        # by `env`, for not every launcher gives its own environment to ranks on other hosts
        ours = ["env", f"{SUPERVISED}={self.token}:{self.journal}", sys.executable, "-m", "pytest", "--with-mpi"]
        command = [*self.launcher.command, *ours, *follow, str(self.journal)]
        display = Display(sys.stdout, self.journal, job)
        if display.is_terminal:
            command.append("--color=yes")
        process = subprocess.Popen(
            [*command, *self.pytest_args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **self.launcher.environment},
            start_new_session=True,  # Ctrl-C comes to us alone; we pass it on in an order that saves everything
        )
        try:
            self._follow(process, display)
        finally:
            display.close()
            self._leave_nothing(process)
        status = process.returncode
        return (status if status >= 0 else 128 - status), display.tail

    def _follow(self, process: subprocess.Popen[bytes], display: Display) -> None:
        assert process.stdout is not None
        passed_on = False
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                if selector.select(timeout=0.5):
                    chunk = os.read(process.stdout.fileno(), 1 << 16)
                    if not chunk:
                        break
                    display.write(chunk)
                display.tick()
                if display.is_lost and self.signalled is None:
                    self._on_signal(signal.SIGPIPE, None)
                if self.signalled is not None and not passed_on:
                    passed_on = True
                    self._pass_on(process)
                if self.signalled is not None and time.monotonic() - self.signalled_at > STOP_LIMIT_S:
                    break
                if process.poll() is not None and not selector.select(timeout=0):
                    break

    def _pass_on(self, process: subprocess.Popen[bytes]) -> None:
        """Ask root to stop; its hub tells the other ranks. Open MPI's mpiexec would kill them within half a second."""
        root = next(iter(self._processes()), None)
        if root is not None and is_alive(root):
            os.kill(int(root["pid"]), signal.SIGTERM)
        else:
            process.terminate()

    def _leave_nothing(self, process: subprocess.Popen[bytes]) -> None:
        """End what is left of a job: ranks by pid, then the launcher's process group."""
        stopping = self.signalled is not None
        try:
            process.wait(timeout=STOP_LIMIT_S if not stopping else 5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        kill_ranks(self._processes())
        if process.stdout is not None:
            process.stdout.close()

    def _on_signal(self, signum: int, _frame: object) -> None:
        if self.signalled is None:
            self.signalled, self.signalled_at = signum, time.monotonic()
        elif time.monotonic() - self.signalled_at > 1.0:  # again: the user does not want to wait
            self.signalled_at = -STOP_LIMIT_S

    # --- between jobs -------------------------------------------------------------------------------------------

    def _processes(self) -> list[dict[str, Any]]:
        """Ranks of the job that runs now; those of an earlier job or of another run are none of our business."""
        history = self._history()
        return history.processes if history.supervisor == self.token else []

    def _history(self) -> History:
        return read_history(self.journal) if self.journal.exists() else History()

    def _convict(self, nodeid: str, history: History, status: int, output: str) -> None:
        """Write the test that the job died in as failed, with all that is known about it."""
        story: dict[str, Any] = dict(history.abort or {})
        if not story:
            story = {
                "diagnosis": f"the job ended with status {status} in this test and left no diagnosis",
                "stacks": "",
                "failures": [],
                "phase": "call",
                "output": output[-LAST_OUTPUT:],
            }
        story = {name: value for name, value in story.items() if name not in ("event", "time", "nodeid")}
        append_line(self.journal, {"event": "end", "nodeid": nodeid, "outcome": "failed", "abort": story}, durable=True)

    def _say_end(self, what: str, history: History) -> None:
        """Why there is no summary of pytest's, what is finished, and how to go on."""
        outcomes = [str(entry["outcome"]) for entry in history.finished.values()]
        told = ", ".join(f"{outcomes.count(one)} {one}" for one in dict.fromkeys(outcomes)) or "no test finished"
        total = f" of {history.selected}" if history.selected else ""
        self._say(f"{what}: {told}; {len(outcomes)}{total} tests are in {self.journal}")
        if history.ranks is not None:
            self._say(f"go on with: pario run -n {self.ranks} --resume {self.journal} {shlex.join(self.pytest_args)}")

    def _say(self, text: str) -> None:
        # who closed our output may still see our errors
        put(sys.stderr if self.signalled == signal.SIGPIPE else sys.stdout, f"pario: {text}\n")


def supervise(launcher: Launcher, ranks: int, pytest_args: list[str], journal: Path | None, resume: Path | None) -> int:
    """Check what was asked for, then run."""
    if ranks < 1:
        raise ParameterError("-n", ranks, "a whole number of ranks, 1 or more", "command line")
    _refuse_own(pytest_args)
    if resume is not None:
        read_history(resume)
    elif journal is not None and journal.exists():
        raise ParameterError("--journal", str(journal), "a new file; use --resume to go on with one", "command line")
    path = (resume or journal or default_path(Path.cwd())).absolute()
    lock = JournalLock(path, resumes=resume is not None)
    try:
        return Supervisor(launcher, ranks, pytest_args, path, resumes=resume is not None).run()
    finally:
        lock.release()


def _refuse_own(pytest_args: list[str]) -> None:
    """The journal is ours to name: without knowing it a run could be neither followed nor resumed."""
    for argument in pytest_args:
        option = argument.partition("=")[0]
        if option in OWN:
            raise ParameterError(option, argument, f"left to pario run; write {OWN[option]} FILE", "command line")
