"""CONS-25, CONS-45, CONS-47: what is told of a pass are the calls that were made."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from pytest_pario import mpi
from pytest_pario.access.deeds import Course, Deeds, carry_out, course_of
from pytest_pario.model import Access, Metric, Pattern, SyncRule
from pytest_pario.patterns import Strided

pytestmark = pytest.mark.skipif(bool(mpi.unavailable_reason()), reason=str(mpi.unavailable_reason()))


class Counting:
    """A communicator that writes its barriers into a list of calls."""

    def __init__(self, calls: list[str]) -> None:
        self._calls = calls

    def Barrier(self) -> None:  # noqa: N802 - MPI's name
        self._calls.append("|")


class Fake:
    """A file of three calls, one of which may fail."""

    def __init__(self, broken: str = "", shows_view: bool = False) -> None:
        self.deeds, self.calls, self._broken, self._open = Deeds(), list[str](), broken, False
        self._shows_view = shows_view

    def _make(self, name: str) -> None:
        if name == self._broken:
            raise OSError(28, name)
        self.calls.append(name)

    def open(self) -> None:
        self._make("open")
        self._open = True

    def accesses(self, one_by_one: bool) -> Iterator[Callable[[], object]]:
        if self._open and self._shows_view:
            self._make("view")
        for _ in range(3 if one_by_one else 1) if self._open else ():
            yield lambda: self._make("access")

    def sync(self) -> None:
        self._make("sync")

    def close(self) -> None:
        self._make("close")


def run(fake: Fake, course: Course) -> list[str]:
    carry_out(Counting(fake.calls), fake, course).times(0)  # type: ignore[arg-type]
    return fake.deeds.acts


PLAIN = Course(syncs=True, syncs_each=False, as_job=False, intra_barriers=False)


@pytest.mark.parametrize(
    ("course", "calls"),
    [
        (PLAIN, "| open access sync close"),
        (Course(True, False, False, True), "| open | access sync | close"),
        (Course(True, False, True, False), "| open | access sync | close"),
        (Course(False, True, False, False), "| open access sync access sync access sync close"),
        (Course(False, False, False, False), "| open access close"),
        # CONS-35: what leads to the first call, then the barrier, then calls alone
        (Course(False, False, False, False, as_calls=True), "| open view | access close"),
        # RES-32: a barrier before each timed call, and a sync after each where it is asked for
        (Course(False, False, False, False, True, True), "| open view | | access | access | access close"),
        (Course(False, True, False, False, False, True), "| open view | access sync | access sync | access sync close"),
    ],
)
def test_calls_and_barriers(course: Course, calls: str) -> None:
    fake = Fake(shows_view="view" in calls)
    acts = run(fake, course)
    assert " ".join(fake.calls) == calls
    assert acts == [act for act in ("open", "access", "sync", "close") if act in calls]
    assert fake.deeds.errors == []


@pytest.mark.parametrize(
    ("broken", "acts"),
    [
        ("open", []),
        ("access", ["open", "sync", "close"]),
        ("sync", ["open", "access", "close"]),
        ("close", ["open", "access", "sync"]),
    ],
)
def test_a_call_that_failed_was_not_made(broken: str, acts: list[str]) -> None:
    fake = Fake(broken)
    assert run(fake, Course(True, False, True, True)) == acts
    assert fake.calls.count("|") == 5  # every barrier is met all the same
    assert [str(error) for error in fake.deeds.errors] == [f"[Errno 28] {broken}"]


def test_a_sync_counts_for_what_lies_before_it() -> None:
    deeds = Deeds()
    for act in ("open", "access", "sync", "access"):
        deeds.do(act, lambda: None)
    assert deeds.acts == ["open", "access"]
    deeds.do("sync", lambda: None)
    assert deeds.acts == ["open", "access", "sync"]


@pytest.mark.parametrize(
    ("sync", "metric", "phase", "course"),
    [
        ("end", "transfer_rate", "write", Course(True, False, False, False)),
        ("end", "transfer_rate", "read", Course(False, False, False, False)),
        ("end", "job_time", "read", Course(True, False, True, False)),
        ("per_call", "transfer_rate", "rewrite", Course(False, True, False, False)),
        ("none", "transfer_rate", "write", Course(False, False, False, False)),
        ("none", "aggregate", "write", Course(False, False, False, False, as_calls=True)),
        ("end", "aggregate", "read", Course(False, False, False, False, as_calls=True)),
    ],
)
def test_what_a_row_asks_for(sync: SyncRule, metric: Metric, phase: Access, course: Course) -> None:
    assert course_of(Pattern("x", Strided(8), sync=sync, metric=metric), phase) == course
