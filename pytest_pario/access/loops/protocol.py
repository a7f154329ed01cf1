"""What a kind of loop has to offer; a member is found by its `name`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from pytest_pario.access.loops.series import Series

Integers = npt.NDArray[np.int64]

Target = Literal["mpi", "posix"]
"""What the calls go to: an MPI file or a POSIX file descriptor."""

FOREVER = (1 << 63) - 1
"""The deadline of a loop that has none, in nanoseconds of the monotonic clock."""


class Engine(Protocol):
    """Makes the calls of one series; built before the clock starts."""

    def use(self, file: Any) -> None:
        """Make the calls on this file from now on."""

    def make(self, first: int, last: int, deadline_ns: int) -> tuple[int, int]:
        """Make calls until one fails, the deadline has passed or `last` is reached.

        Return the call after the last one made, and the error code of that last one: 0 where it went well.
        """

    def count(self, first: int, reached: int) -> None:
        """Put what these calls moved into the array of moved bytes; after the clock has stopped."""


class Member(Protocol):
    """One way to make the calls; its name is what records carry, since a change of loop looks like one of storage."""

    @property
    def name(self) -> str:
        """The word for it in options and records."""

    def unavailable_reason(self, target: Target) -> str | None:
        """Say in one sentence why it cannot be used here, or None where it can; found out once per process."""

    def engine(self, series: Series, moved_bytes: Integers, times: Integers | None) -> Engine:
        """Prepare everything, compilation included; results go into the arrays given.

        `times` has a row of start and stop per call, in nanoseconds of the monotonic clock; None: no clock is read.
        """
