"""A trace of file operations, one file per task, for finding out what really happened (GPFS-55..57).

Off unless `PARIO_TRACE` is `errors` or `all`. Every line of a trace is one JSON object: time, rank, op, file, offset
and length in bytes, and either the result (bytes moved, or `ok`) or the error class and its text.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import re
import socket
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pytest_pario.errors import FileAccessError, ParameterError
from pytest_pario.units import MiB

Mode = Literal["errors", "all"]

LIMIT_BYTES = 64 * MiB
"""A trace stops growing here: a forgotten variable must not fill the node's temporary directory."""

JOB_VARIABLES = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "PMIX_NAMESPACE", "JOB_ID")
"""Where batch systems and launchers leave the job's id, most specific first."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TraceSettings:
    """What to record and where, read from the environment."""

    mode: Mode
    """`errors` records operations that failed, `all` every operation."""

    min_offset: int = 0
    """`all` leaves out operations that succeeded below this byte of the file."""

    directory: Path = Path(tempfile.gettempdir())
    """Directory on the task's own node."""

    limit_bytes: int = LIMIT_BYTES
    """Size at which a trace ends with a `truncated` record."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> TraceSettings | None:
        """Read `PARIO_TRACE`, `PARIO_TRACE_MIN_OFFSET` and `PARIO_TRACE_DIR`; None while tracing is off."""
        mode = environment.get("PARIO_TRACE", "")
        if mode in ("", "off"):
            return None
        if mode not in ("errors", "all"):
            raise ParameterError("PARIO_TRACE", mode, "errors, all or off", "environment")
        return cls("errors" if mode == "errors" else "all", _min_offset(environment), _directory(environment))


def _min_offset(environment: Mapping[str, str]) -> int:
    text = environment.get("PARIO_TRACE_MIN_OFFSET", "") or "0"
    if not (text.isascii() and text.isdigit()):
        raise ParameterError("PARIO_TRACE_MIN_OFFSET", text, "a number of bytes, 0 or more", "environment")
    return int(text)


def _directory(environment: Mapping[str, str]) -> Path:
    directory = Path(environment.get("PARIO_TRACE_DIR", "") or tempfile.gettempdir())
    # access(2) first: it says no where stat(2) may fail.
    if not (os.access(directory, os.W_OK | os.X_OK) and directory.is_dir()):
        raise ParameterError("PARIO_TRACE_DIR", str(directory), "a directory that can be written to", "environment")
    return directory


def job_id(environment: Mapping[str, str]) -> str:
    """Id of the batch job, else of the launcher's process on this node, in letters that suit a file name."""
    found = next((environment[name] for name in JOB_VARIABLES if environment.get(name)), f"pid{os.getppid()}")
    return re.sub(r"[^A-Za-z0-9._]", "_", found)


class Trace:
    """The records of one task; the file is made with the first of them."""

    def __init__(self, settings: TraceSettings, rank: int) -> None:
        """Take the rank of the task in the whole job."""
        self.settings, self.rank = settings, rank
        self.path: Path | None = None
        self._descriptor = -1
        self._written_bytes = 0
        self._is_full = False

    def success(
        self,
        op: str,
        file: str,
        offset: int | None,
        length: int | None,
        result: int | None,
        *,
        at_s: float | None = None,
    ) -> None:
        """Record an operation that did what it was asked to, with the bytes moved, if any; `at_s`: when it began.

        An operation at an unknown offset is never left out.
        """
        settings = self.settings
        if settings.mode == "all" and (offset is None or offset >= settings.min_offset):
            told = "ok" if result is None else result
            self._write(op, at_s, file=file, offset=offset, length=length, result=told)

    def failure(
        self,
        op: str,
        file: str,
        offset: int | None,
        length: int | None,
        error: BaseException,
        *,
        at_s: float | None = None,
    ) -> None:
        """Record an error of this task, also one that another task's error hides from the caller."""
        if isinstance(error, FileAccessError):
            error_class, text = error.error_class, error.text
        else:
            error_class, text = type(error).__name__, str(error)
        self._write(op, at_s, file=file, offset=offset, length=length, error=error_class, text=text)

    def _write(self, op: str, at_s: float | None, **fields: object) -> None:
        if self._is_full:
            return
        line = self._line(op, at_s, fields)
        ending = self._line("truncated", None, {"limit": self.settings.limit_bytes})
        # The last record must fit below the limit too.
        if self._written_bytes + len(line) + len(ending) > self.settings.limit_bytes:
            line, self._is_full = ending, True
        try:
            self._append(line)
        except OSError as error:
            # A trace that cannot be written must not change what the program does.
            self._is_full = True
            log.warning("rank %d stops tracing: %s", self.rank, error)

    def _line(self, op: str, at_s: float | None, fields: Mapping[str, object]) -> bytes:
        record = {"time": round(time.time() if at_s is None else at_s, 6), "rank": self.rank, "op": op, **fields}
        return json.dumps(record, ensure_ascii=True).encode() + b"\n"

    def _append(self, line: bytes) -> None:
        """Write unbuffered, so that the last record before a crash is in the file."""
        if self._descriptor < 0:
            self.path, self._descriptor = _create(self.settings.directory, self.rank)
        self._written_bytes += os.write(self._descriptor, line)


def _create(directory: Path, rank: int) -> tuple[Path, int]:
    """Make a file that nobody else has; the pid keeps the steps of one batch job apart."""
    stem = f"pario-trace-{job_id(os.environ)}-rank{rank:05d}-{socket.gethostname()}-{os.getpid()}"
    for attempt in range(1000):
        path = directory / (f"{stem}.jsonl" if attempt == 0 else f"{stem}.{attempt}.jsonl")
        try:
            # O_EXCL follows no link that somebody laid in a shared directory.
            return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
    raise FileExistsError(f"{directory / stem} and 999 more exist")


@functools.cache
def _shared_trace(settings: TraceSettings, rank: int) -> Trace:
    return Trace(settings, rank)


def trace_from_environment(rank: int) -> Trace | None:
    """The trace of this task, one for all its files; None while tracing is off."""
    settings = TraceSettings.from_environment(os.environ)
    return None if settings is None else _shared_trace(settings, rank)
