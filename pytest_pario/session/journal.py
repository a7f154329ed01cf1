"""The journal: one JSON line per event, so that an aborted job loses nothing that was measured.

Schema 1, one object per line:
    session  schema, time, ranks, processes, argv,       first line of every job; a resumed journal has several
             supervisor                                  token of the `pario run` that started the job
    start    nodeid                                      root enters a test
    selected count                                       how many tests the job is going to run or replay
    end      nodeid, outcome, reports, benchmark         the test is finished; on disk before the next one starts
             or: nodeid, outcome, abort                  written by `pario run` for the test that a job died in
    stop     reason, nodeid, again                       the job was stopped in order (signal); nodeid runs again;
                                                         again: the rest can run at once, in a new job
    abort    nodeid, phase, diagnosis, dead, stacks      the job could not go on; nodeid is the culprit
    finish   exitstatus                                  the job came to its end
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_pario.errors import JournalError

SCHEMA = 1

SUPERVISED = "PARIO_SUPERVISED"
"""Set by `pario run` to a token of the job and the journal that it guards (`TOKEN:PATH`). It resumes the rest in a new
job: the last job then prints the one summary."""

SETTLE_S = 0.1
LOOKS = 3
"""A file that has not grown at so many looks, each after so many seconds, has nobody writing the rest of a line."""

# what is read of each event; a resumed journal comes from outside
FIELDS: dict[str, dict[str, type]] = {
    "session": {"ranks": int},
    "selected": {"count": int},
    "start": {"nodeid": str},
    "end": {"nodeid": str, "outcome": str},
    "stop": {"reason": str},
    "finish": {"exitstatus": int},
}


def append_line(path: Path, entry: dict[str, Any], durable: bool) -> None:
    """Append one entry in one write; `durable` puts it on disk before returning."""
    with _writing(path):
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            _mend(descriptor)
            _write(descriptor, entry, durable)
        finally:
            os.close(descriptor)


def supervisor_of(journal: Path, environment: Mapping[str, str]) -> str | None:
    """Token of the `pario run` that guards this journal; None where there is none, as in a job that a test starts."""
    token, _, path = environment.get(SUPERVISED, "").partition(":")
    return token if token and Path(path) == journal.absolute() else None


class JournalLock:
    """A journal belongs to one run at a time: held until closed or until the process ends."""

    def __init__(self, path: Path, resumes: bool) -> None:
        """Take it, or refuse where another run has it; where the filesystem has no locks nothing is held."""
        self.path = path
        try:
            if not resumes:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | (0 if resumes else os.O_CREAT), 0o644)
        except OSError as error:
            does = "read" if isinstance(error, FileNotFoundError) else "write"
            raise JournalError(f"cannot {does} journal {path}: {error.strerror}") from error
        self._lock()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                os.close(self._descriptor)
                raise JournalError(
                    f"journal {self.path} is being written by another run; wait for its end, or take another journal"
                ) from error

    def release(self) -> None:
        """Let it go; a journal in which nothing was written is not left behind."""
        with contextlib.suppress(OSError):
            if os.fstat(self._descriptor).st_size == 0:
                self.path.unlink()
        os.close(self._descriptor)


class Journal:
    """Root's open journal."""

    def __init__(self, path: Path) -> None:
        """Open for appending; directories are made."""
        self.path = path
        with _writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            _mend(self._descriptor)

    def write(self, event: str, durable: bool = False, **fields: Any) -> None:
        """Append an event."""
        with _writing(self.path):
            _write(self._descriptor, {"event": event, "time": time.time(), **fields}, durable)

    def close(self) -> None:
        """Close; writing again is an error."""
        os.close(self._descriptor)


@dataclass
class History:
    """What a journal says so far."""

    ranks: int | None = None
    finished: dict[str, dict[str, Any]] = field(default_factory=dict)
    """nodeid -> its last `end` entry."""
    running: str | None = None
    """Test with a start and no end: the one that the job died in, unless it was stopped in order."""
    abort: dict[str, Any] | None = None
    """The abort entry of the last job, where it has one."""
    stopped: str | None = None
    """Why the last job was stopped in order."""
    again: bool = False
    """It was stopped for want of something that a new job has."""
    exitstatus: int | None = None
    """Of the last job, where it came to its end."""
    processes: list[dict[str, Any]] = field(default_factory=list)
    """Host and pid of each rank of the last job."""
    supervisor: str | None = None
    """Token of the `pario run` that started the last job."""
    selected: int | None = None
    """How many tests the last job selected."""


def read_history(path: Path) -> History:
    """Read a journal; a torn last line is what a killed job leaves and is passed over."""
    history = History()
    for entry in read_entries(path):
        event, nodeid = entry["event"], entry.get("nodeid")
        if event == "session":
            history.ranks, history.processes = entry["ranks"], entry.get("processes", [])
            history.supervisor = entry.get("supervisor")
            history.running = history.abort = history.stopped = history.exitstatus = None
            history.again = False
        elif event == "selected":
            history.selected = entry["count"]
        elif event == "start":
            history.running = str(nodeid)
        elif event == "end":
            history.finished[str(nodeid)] = entry
            history.running = None
        elif event == "abort":
            history.abort = entry
        elif event == "stop":
            history.stopped, history.again = entry["reason"], bool(entry.get("again"))
        elif event == "finish":
            history.exitstatus = entry["exitstatus"]
    return history


def read_entries(path: Path) -> Iterator[dict[str, Any]]:
    """All whole lines, checked: the first must be a session of a schema that we know."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise JournalError(f"cannot read journal {path}: {error.strerror}") from error
    if lines == [b""]:
        return
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            entry = json.loads(line)
            event = entry["event"]
        except (ValueError, TypeError, KeyError) as error:
            if number == len(lines):  # no newline behind it: torn by the end of the job
                return
            raise JournalError(f"{path}:{number} is not a journal line: {line[:60]!r}") from error
        if number == 1 and event != "session":
            raise JournalError(f"{path} is not a journal: its first line is {event!r}, not a session")
        if event == "session" and entry.get("schema") != SCHEMA:
            raise JournalError(f"{path}:{number} has schema {entry.get('schema')!r}; this release reads {SCHEMA}")
        problem = _problem(entry)
        if problem:
            raise JournalError(f"{path}:{number}: {problem}")
        yield entry


def _problem(entry: dict[str, Any]) -> str | None:
    """What is wrong with a line that should be one of ours."""
    for name, kind in FIELDS.get(entry["event"], {}).items():
        if type(entry.get(name)) is not kind:
            return f"{entry['event']!r} has {name} = {entry.get(name)!r}, which is no {kind.__name__}"
    if entry["event"] == "end" and not isinstance(entry.get("abort", entry.get("reports")), dict | list):
        return "'end' has neither reports nor abort"
    return None


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Say which journal it is that a full disk, a quota or a read-only mount keeps from being written."""
    try:
        yield
    except OSError as error:
        raise JournalError(f"journal {path} cannot be written: {error.strerror or error}") from error


def _mend(descriptor: int) -> None:
    """Cut off the torn line that a killed writer left, or what is appended would be lost with it."""
    end = size = _settled(descriptor)
    while end:
        begin = max(0, end - (1 << 16))
        newline = os.pread(descriptor, end - begin, begin).rfind(b"\n")
        end = begin
        if newline >= 0:
            end += newline + 1
            break
    if size:
        os.ftruncate(descriptor, end)


def _settled(descriptor: int) -> int:
    """Size of a file that ends with a torn line and has stopped growing; 0 where its last line is whole."""
    size, still = _torn_at(descriptor), 0
    while size and still < LOOKS:
        time.sleep(SETTLE_S)
        before, size = size, _torn_at(descriptor)
        # a slow filesystem may hold a writer in the middle of a long line
        still = still + 1 if size == before else 0
    return size


def _torn_at(descriptor: int) -> int:
    """Size of a file that does not end with a whole line; 0 where it does."""
    size = os.fstat(descriptor).st_size
    return size if size and os.pread(descriptor, 1, size - 1) != b"\n" else 0


def _write(descriptor: int, entry: dict[str, Any], durable: bool) -> None:
    line = json.dumps(entry, separators=(",", ":"), default=str).encode() + b"\n"
    view = memoryview(line)
    while view:
        view = view[os.write(descriptor, view) :]
    if durable:
        os.fdatasync(descriptor)


def default_path(rootpath: Path) -> Path:
    """`.pario/DATE-PID.jsonl` below the rootdir, or below the temporary directory where that cannot be written."""
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.jsonl"
    directory = rootpath / ".pario"
    try:
        directory.mkdir(exist_ok=True)
        writable = os.access(directory, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        directory = Path(tempfile.gettempdir()) / f"pario-{os.getuid()}"
    return directory / name
