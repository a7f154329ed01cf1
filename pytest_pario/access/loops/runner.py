"""A loop: runs a series through an engine and keeps what each call came to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pytest_pario.access.loops.protocol import FOREVER, Integers, Member
from pytest_pario.access.loops.series import Series
from pytest_pario.errors import ParameterError


def touched_zeros(shape: tuple[int, ...]) -> Integers:
    """Zeros whose memory is really there, so that the first run does not pay for it."""
    array = np.empty(shape, dtype=np.int64)
    array.fill(0)
    return array


class Loop:
    """Makes the calls of a series, all or part of them, as often as is wanted; results are those of the last time."""

    def __init__(
        self,
        series: Series,
        member: Member,
        *,
        timed: bool = False,
        on_error: Callable[[int, int], None] | None = None,
    ) -> None:
        """Prepare and compile all that the calls need.

        `timed` records start and stop of every call. `on_error(call, code)` is called right after a call that failed
        and before the next one, for what cannot wait, such as letting go of record locks.
        """
        self.series, self.name = series, member.name
        self.errors: list[tuple[int, int]] = []
        """(call, code) of each call that failed: an MPI error code, or the errno of a POSIX call."""
        self.times: Integers | None = touched_zeros((len(series), 2)) if timed else None
        """Start and stop of each call in nanoseconds of the monotonic clock; zeros for calls that were not made."""
        self._on_error = on_error
        self._moved = touched_zeros((len(series),))
        self._uncounted: list[tuple[int, int, int]] = []
        self._engine = member.engine(series, self._moved, self.times)

    def __len__(self) -> int:
        """Number of calls."""
        return len(self.series)

    def use(self, file: Any) -> None:
        """Make the calls on this file from now on; nothing is laid out or compiled anew."""
        self.series = self.series.on(file)
        self._engine.use(file)

    def run(self, first: int = 0, last: int | None = None, *, deadline_ns: int | None = None) -> int:
        """Make calls first … last-1 in order and return the call after the last one made.

        A call that fails is recorded and the loop goes on, as collective calls need. No call begins at or after the
        deadline; it is refused for collective calls, in which a task that stops early hangs the others.
        """
        end, limit = self._check(first, last, deadline_ns)
        self.series.check_open()
        if self.errors:
            self.errors = [error for error in self.errors if not first <= error[0] < end]
        reached = first
        try:
            while reached < end:
                reached, code = self._engine.make(reached, end, limit)
                if code:
                    self._note(reached - 1, code)
                elif reached < end:
                    break
        finally:
            self._remember(first, reached, end)
        return reached

    @property
    def moved_bytes(self) -> Integers:
        """Bytes that each call moved; 0 for calls that were not made, and for MPI calls that failed."""
        for first, reached, last in self._uncounted:
            self._engine.count(first, reached)
            self._moved[reached:last] = 0
        self._uncounted.clear()
        if self.series.target == "mpi" and self.errors:
            # a library need not fill in the status of a call that failed
            self._moved[[call for call, _ in self.errors]] = 0
        return self._moved

    def _note(self, call: int, code: int) -> None:
        self.errors.append((call, code))
        if self._on_error is not None:
            self._on_error(call, code)

    def _remember(self, first: int, reached: int, last: int) -> None:
        """Leave the counting of MPI calls for later; a run over the same calls takes the place of the one before."""
        if self.times is not None:
            self.times[reached:last] = 0
        if self.series.target == "posix":
            self._moved[reached:last] = 0
            return
        if self._uncounted and first <= self._uncounted[-1][0] and self._uncounted[-1][2] <= last:
            self._uncounted.pop()
        self._uncounted.append((first, reached, last))

    def _check(self, first: int, last: int | None, deadline_ns: int | None) -> tuple[int, int]:
        call, end = self.series.call, len(self) if last is None else last
        if not 0 <= first <= end <= len(self):
            raise ParameterError("first, last", (first, end), f"in order and within the {len(self)} calls", call.name)
        if deadline_ns is None:
            return end, FOREVER
        if call.collective:
            raise ParameterError("deadline_ns", deadline_ns, "absent: the call is collective", call.name)
        return end, max(0, min(deadline_ns, FOREVER - 1))
