"""What a call, or a series of calls, has come to on this task, kept until all tasks agree about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from pytest_pario import mpi
from pytest_pario.access.failures import Subject
from pytest_pario.access.locks import release_record_locks
from pytest_pario.access.trace import Trace
from pytest_pario.errors import ShortTransferError

P = ParamSpec("P")
R = TypeVar("R")

TRACED = "pario_traced"
"""Attribute of an error that is in the trace already."""


class Outcome:
    """Takes the errors of calls, so that the task goes on to where the others are.

    A task that leaves a loop of collective calls at its first error hangs the others in the next call; it has to
    note the error and make the remaining calls.
    """

    def __init__(self, name: str, subject: Subject, trace: Trace | None) -> None:
        """Begin with nothing wrong; `name` is the call or the pattern that errors are told about."""
        self.name = name
        self.failure: BaseException | None = None
        """The first error of this task."""
        self.failures = 0
        """How many errors there were."""
        self.offset: int | None = None
        """Byte of the file at which the call begins, where it is known; for the trace."""
        self.length: int | None = None
        """Bytes that the call is to move; for the trace."""
        self._subject, self._trace = subject, trace

    def attempt(self, action: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | None:
        """Do something that may fail; None if it did."""
        try:
            return action(*args, **kwargs)
        except Exception as error:
            self.note(error)
            return None

    def note(self, error: BaseException) -> None:
        """Keep the error if it is the first, trace it, and let go of what the failed call may still hold."""
        if isinstance(error, mpi.load().Exception):
            release_record_locks(self._subject.path)
        failure = self._subject.translate(self.name, error)
        self.failures += 1
        if self.failure is None:
            self.failure = failure
        # The error of a call comes by again when it leaves the phase around.
        if self._trace is not None and not hasattr(failure, TRACED):
            self._trace.failure(self.name, self._subject.path, self.offset, self.length, failure)
            setattr(failure, TRACED, True)

    def succeed(self, result: int | None = None) -> None:
        """Trace that the call did what it was asked to."""
        if self._trace is not None:
            self._trace.success(self.name, self._subject.path, self.offset, self.length, result)

    def expect(self, asked_bytes: int, moved_bytes: int, offset: int | None = None) -> None:
        """Note a ShortTransferError unless all bytes were moved; sums over a whole loop will do (ERR-07)."""
        if moved_bytes != asked_bytes:
            self.note(ShortTransferError(self.name, offset, asked_bytes, moved_bytes))
