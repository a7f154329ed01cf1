"""How a guarded call runs: check on each task, agree, call, agree again; and how a file is left."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from pytest_pario.access.agreement import NOTHING, Agreement
from pytest_pario.access.calls import CALLS, DataCall, find_call
from pytest_pario.access.failures import Subject
from pytest_pario.access.memory import BufferSpec
from pytest_pario.access.outcome import Outcome
from pytest_pario.access.trace import Trace
from pytest_pario.access.transfer import RawCalls, Transfer, prepare
from pytest_pario.access.views import byte_view

if TYPE_CHECKING:
    from mpi4py import MPI

P = TypeVar("P")
R = TypeVar("R")
Terms = Mapping[str, object]


def no_check() -> None:
    """Stand for the checks of a call that has no arguments to check."""


def no_terms() -> Terms:
    """Stand for the terms of a call that has nothing to compare in develop mode."""
    return NOTHING


class CollectiveGuard:
    """An MPI file, the agreement of its tasks, and the ways to make calls under it."""

    def __init__(self, agreement: Agreement, path: str, amode: int) -> None:
        """Hold what is known of the file before it is open."""
        self.path, self.amode = path, amode
        self.view = byte_view()
        """The view in force on this task."""
        self._handle: MPI.File | None = None
        self._agreement = agreement
        self._subject = Subject(path, agreement.rank)
        self._trace: Trace | None = None

    @property
    def closed(self) -> bool:
        """Whether the file is closed; it is so on all tasks or on none."""
        return self._handle is None

    @property
    def raw(self) -> MPI.File:
        """The file of mpi4py, for calls without a guard."""
        if self._handle is None:
            raise self._subject.refusal("use", "ERR_FILE", "the file is closed")
        return self._handle

    @property
    def develop(self) -> bool:
        """Whether arguments are compared between neighbours before each collective call."""
        return self._agreement.develop

    # What the executor uses around its own loops.

    def outcome(self, name: str) -> Outcome:
        """Begin to collect errors of this task under the name of a call or a pattern."""
        return Outcome(name, self._subject, self._trace)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[Outcome]:
        """Agree once, at the end of the block, about everything that was done in it (GPFS-54).

        An error that leaves the block on some tasks is raised there, and RemoteTaskError on the others, which learn
        it at the end of the block or in the next collective call, whichever comes first.
        """
        self._require_open(name)
        outcome = self.outcome(name)
        try:
            yield outcome
        except BaseException as error:
            if self._agreement.knows(error):
                raise
            outcome.note(error)
            self._agreement.after(name, outcome.failure)
            raise
        self._agreement.after(name, outcome.failure)

    def check_before(self, name: str, transfers: Iterable[tuple[int | None, BufferSpec]]) -> RawCalls:
        """Check the (offset, buffer) of all calls of a pattern and agree once, before the clock starts (GPFS-54)."""
        self._require_open(name)
        outcome = self.outcome(name)
        listed = outcome.attempt(list, transfers) or []
        checked = outcome.attempt(self._prepare_all, name, listed) or []
        self._agreement.before(name, outcome.failure, self._pattern_terms(name, len(listed)), NOTHING)
        return RawCalls(self.raw, checked, outcome)

    def agree_after(self, calls: RawCalls) -> int:
        """Count what the calls moved and agree once, after the clock has stopped; return this task's bytes."""
        moved = calls.check_moved()
        if calls.outcome.failure is None:
            calls.outcome.succeed(moved)
        self._agreement.after(calls.outcome.name, calls.outcome.failure)
        return moved

    # The ways to make one call.

    def _collective(
        self,
        operation: str,
        check: Callable[[], P],
        act: Callable[[P], R],
        same: Terms = NOTHING,
        details: Callable[[], Terms] = no_terms,
    ) -> R:
        if operation != "open":
            self._require_open(operation)
        outcome = self.outcome(operation)
        checked = outcome.attempt(check)
        develop = outcome.attempt(details) if self.develop and outcome.failure is None else None
        self._agreement.before(operation, outcome.failure, same, develop or NOTHING)
        result = outcome.attempt(act, checked)  # type: ignore[arg-type]
        if outcome.failure is None:
            outcome.succeed()
        self._agreement.after(operation, outcome.failure)
        return result  # type: ignore[return-value]

    def _alone(self, operation: str, check: Callable[[], P], act: Callable[[P], R]) -> R:
        outcome = self.outcome(operation)
        result = outcome.attempt(lambda: act(check()))
        if outcome.failure is not None:
            raise outcome.failure
        outcome.succeed()
        return result  # type: ignore[return-value]

    def _move(self, name: str, buffer: BufferSpec, offset: int | None = None) -> int:
        self._require_open(name)
        call, outcome = find_call(name), self.outcome(name)
        transfer = outcome.attempt(self._prepare, call, buffer, offset)
        if call.collective:
            self._agreement.before(name, outcome.failure, self._pointer_terms(call), NOTHING)
        moved = None if transfer is None else outcome.attempt(self._perform, transfer, outcome)
        if call.collective:
            self._agreement.after(name, outcome.failure)
        if outcome.failure is not None:
            raise outcome.failure
        return moved or 0

    def _perform(self, transfer: Transfer, outcome: Outcome) -> int:
        position = transfer.position(self.raw)
        if self._trace is not None:
            transfer.describe(outcome, self.raw, position)
        moved = transfer.perform(self.raw)
        outcome.expect(transfer.memory.asked_bytes, moved, position)
        if outcome.failure is None:
            outcome.succeed(moved)
        return moved

    def _prepare(self, call: DataCall, buffer: BufferSpec, offset: int | None) -> Transfer:
        return prepare(self._subject, self.amode, self.view, call, buffer=buffer, offset=offset)

    def _prepare_all(self, name: str, listed: list[tuple[int | None, BufferSpec]]) -> list[Transfer]:
        call = find_call(name)
        return [self._prepare(call, buffer, offset) for offset, buffer in listed]

    def _pointer_terms(self, call: DataCall) -> Terms:
        """A shared pointer means the same place on all tasks only if they have the same view (ENV-04)."""
        return {"view": self.view.shape} if call.pointer == "shared" else NOTHING

    def _pattern_terms(self, name: str, count: int) -> Terms:
        """One collective call more on some task would hang it."""
        call = CALLS.get(name)
        if call is None:
            return NOTHING
        return {**({"number of calls": count} if call.collective else {}), **self._pointer_terms(call)}

    def _require_open(self, operation: str) -> None:
        """A closed file has no communicator left to agree on; but it is closed on all tasks."""
        if self.closed:
            raise self._subject.refusal(operation, "ERR_FILE", "the file is closed")

    # How a file is left.

    def _close(self, news: BaseException | None) -> BaseException | None:
        """Close on all tasks and return this task's verdict; `news` is an error that the others do not know yet."""
        verdict, together = self._agreement.hold("close", news)
        while not together:
            # The tasks that were in another call have just been told, and will come here.
            later, together = self._agreement.hold("close")
            verdict = verdict or later
        outcome = self.outcome("close")
        outcome.attempt(self.raw.Close)
        if outcome.failure is None:
            outcome.succeed()
        ended, _ = self._agreement.hold("close", outcome.failure, ended=True)
        self._handle = None
        self._agreement.free()
        return verdict or ended
