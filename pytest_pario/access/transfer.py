"""Data calls whose arguments are known to be good: one at a time, or many under the clock."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_pario import mpi
from pytest_pario.access.calls import DataCall
from pytest_pario.access.failures import Subject
from pytest_pario.access.memory import BufferSpec, Memory, natural, resolve
from pytest_pario.access.modes import check_direction
from pytest_pario.access.outcome import Outcome
from pytest_pario.access.views import View
from pytest_pario.errors import ParameterError

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Transfer:
    """One data call with checked arguments."""

    call: DataCall
    memory: Memory

    offset: int | None
    """In etypes of the view; None where the call uses a pointer."""

    @property
    def arguments(self) -> list[Any]:
        """Positional arguments of the method of `MPI.File`, without the status."""
        return [self.memory.spec] if self.offset is None else [self.offset, self.memory.spec]

    def perform(self, handle: MPI.File) -> int:
        """Make the call and return how many bytes it moved."""
        status = mpi.load().Status()
        getattr(handle, self.call.method)(*self.arguments, status)
        return moved_bytes(status)

    def position(self, handle: MPI.File) -> int | None:
        """Where the call begins, in etypes; None for the shared pointer, which other tasks may be moving."""
        return handle.Get_position() if self.call.pointer == "individual" else self.offset

    def describe(self, outcome: Outcome, handle: MPI.File, position: int | None) -> None:
        """Say in bytes of the file what is being done, for the trace."""
        outcome.length = self.memory.asked_bytes
        # What is only for the trace must not keep this task from a call that others make.
        with contextlib.suppress(mpi.load().Exception):
            outcome.offset = None if position is None else handle.Get_byte_offset(position)


def prepare(
    subject: Subject, amode: int, view: View, call: DataCall, *, buffer: BufferSpec, offset: int | None
) -> Transfer:
    """Check all that can be known on this task alone before the call."""
    check_direction(subject, call, amode)
    if call.pointer == "explicit":
        offset = natural("offset", offset, call.name)
    elif offset is not None:
        raise ParameterError("offset", offset, "absent: the call uses a file pointer", call.name)
    memory = resolve(buffer, call.name, writable=not call.writes)
    unit = view.etype.Get_size()
    if memory.asked_bytes % unit:
        raise ParameterError("length", memory.asked_bytes, f"a whole number of {unit} B etypes", call.name)
    end = view.displacement + (offset or 0) * unit + memory.asked_bytes
    if end >= 1 << 63:
        raise ParameterError("offset", offset, f"less by {end - (1 << 63) + 1} B, to end before 2^63", call.name)
    return Transfer(call, memory, offset)


def moved_bytes(status: MPI.Status) -> int:
    """Bytes that a finished call moved, also beyond 2 GiB."""
    return status.Get_elements(mpi.load().BYTE)


class RawCalls:
    """Calls that were checked together and are then made without any guard (GPFS-54)."""

    def __init__(self, handle: MPI.File, transfers: list[Transfer], outcome: Outcome) -> None:
        """Lay out everything beforehand, so that the loop does nothing but call."""
        codes = mpi.load()
        self.outcome = outcome
        outcome.length = sum(transfer.memory.asked_bytes for transfer in transfers)
        self.asked_bytes = outcome.length
        self._handle, self._transfers = handle, transfers
        self.statuses: list[MPI.Status] = [codes.Status() for _ in transfers]
        self.arguments = [
            (*transfer.arguments, status) for transfer, status in zip(transfers, self.statuses, strict=True)
        ]
        self.functions: list[Callable[..., None]] = [getattr(handle, transfer.call.method) for transfer in transfers]
        self._error: type[Exception] = codes.Exception

    def run(self) -> None:
        """Make all calls in order; an error is noted and the loop goes on, as collective calls need."""
        for transfer, function, arguments in zip(self._transfers, self.functions, self.arguments, strict=True):
            try:
                function(*arguments)
            except self._error as error:
                transfer.describe(self.outcome, self._handle, transfer.offset)
                self.outcome.note(error)

    def check_moved(self) -> int:
        """Count the bytes that all calls moved and note a short transfer; after the clock has stopped."""
        moved = sum(moved_bytes(status) for status in self.statuses)
        if self.outcome.failure is None:
            self.outcome.expect(self.asked_bytes, moved)
        return moved
