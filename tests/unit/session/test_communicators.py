"""New communicators after failures, until there are none, with a stand-in for a library that has few."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_pario import mpi
from pytest_pario.session.communicators import PLENTY, SPARE, Communicators


class TooManyError(Exception):
    def __str__(self) -> str:
        return "Other MPI error, error stack:\nMPIR_Get(567): Too many communicators (0/2048 free; ignore_id=0)\n"


class Library:
    """Counts the communicators in use, and has no more than `most`."""

    Exception = TooManyError

    def __init__(self, most: int) -> None:
        self.most, self.used = most, 0

    def Dup(self) -> Library:  # noqa: N802 - as in mpi4py
        if self.used == self.most:
            raise TooManyError
        self.used += 1
        return self

    def Free(self) -> None:  # noqa: N802
        self.used -= 1

    def Get_size(self) -> int:  # noqa: N802
        return 2


def exhaust(most: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Failed tests until there are no communicators, and what is said then."""
    library: Any = Library(most)
    monkeypatch.setattr(mpi, "load", lambda: library)
    made = Communicators(library)
    for failed in range(1, most + 2):
        told = made.renew()
        if told:
            return failed, told
    pytest.fail("it never ended")


def test_a_test_always_finds_some_to_make_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 2 * PLENTY
    failed, told = exhaust(most, monkeypatch)
    # two of the session's own; the last test ran when there were at least SPARE
    assert failed == most - 2 - SPARE + 1
    spent = f"({failed} failed ones gave up theirs)"
    assert (
        told == f"no communicator is left for another test {spent}: Too many communicators (0/2048 free; ignore_id=0)"
    )


def test_a_few_failures_cost_one_communicator_each(monkeypatch: pytest.MonkeyPatch) -> None:
    library: Any = Library(PLENTY)
    monkeypatch.setattr(mpi, "load", lambda: library)
    made = Communicators(library)
    assert [made.renew() for _ in range(5)] == [None] * 5
    assert library.used == 2 + 5
