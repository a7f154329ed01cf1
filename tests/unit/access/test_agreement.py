from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_pario.access.agreement import (
    Statement,
    as_number,
    develop_from_environment,
    neighbours_that_differ,
    stable_hash,
    verdict,
)
from pytest_pario.errors import InconsistentArgumentsError, RemoteTaskError


def task(
    rank: int, call: str = "set_size", ended: bool = False, *, failed: bool = False, vague: bool = False, **terms: int
) -> Statement:
    return Statement(rank, call, ended, failed, vague, terms)


def ranks_of(error: BaseException | None) -> list[int]:
    assert isinstance(error, RemoteTaskError | InconsistentArgumentsError)
    return error.ranks


# GPFS-50: the packed numbers


def test_hash_is_the_same_in_another_process() -> None:
    program = "from pytest_pario.access.agreement import stable_hash; print(stable_hash(('native', 3)))"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=240)
    assert int(other.stdout) == stable_hash(("native", 3))


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_integers_are_packed_as_they_are(number: int) -> None:
    assert as_number(number) == number


@given(st.one_of(st.text(), st.integers(min_value=1 << 63), st.floats(), st.lists(st.text())))
def test_everything_else_fits_in_64_bits(value: object) -> None:
    assert -(1 << 63) <= as_number(value) < 1 << 63


def test_flags_are_numbers() -> None:
    assert (as_number(True), as_number(False)) == (1, 0)


# GPFS-52: who sees a difference


@given(st.integers(3, 40), st.data())
def test_one_that_differs_gives_two_flagged_neighbours(size: int, data: st.DataObject) -> None:
    odd = data.draw(st.integers(0, size - 1))
    tasks = [task(rank, size=7 if rank == odd else 5) for rank in range(size)]
    assert neighbours_that_differ(tasks) == ({"size"}, {odd, (odd - 1) % size})


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_a_difference_anywhere_is_seen_by_somebody(sizes: list[int]) -> None:
    names, ranks = neighbours_that_differ([task(rank, size=size) for rank, size in enumerate(sizes)])
    assert bool(names) == bool(ranks) == (len(set(sizes)) > 1)


def test_terms_that_a_task_could_not_give_are_not_compared() -> None:
    assert neighbours_that_differ([task(0, size=1), task(1)]) == (set(), set())


def test_another_call_hides_the_terms() -> None:
    assert neighbours_that_differ([task(0, size=1), task(1, "sync", size=2)]) == ({"call"}, {0, 1})


def test_the_start_of_a_call_is_not_its_end() -> None:
    assert neighbours_that_differ([task(0), task(1, ended=True)])[0] == {"call"}


# GPFS-48: what each task raises


@pytest.mark.parametrize("develop", [False, True])
def test_nothing_wrong_gives_no_error(develop: bool) -> None:
    assert verdict([task(0), task(1)], 0, None, develop) is None


@pytest.mark.parametrize("develop", [False, True])
@given(flags=st.lists(st.booleans(), min_size=1, max_size=8).filter(any))
def test_never_success_on_some_and_failure_on_others(develop: bool, flags: list[bool]) -> None:
    tasks = [task(rank, failed=failed) for rank, failed in enumerate(flags)]
    for rank, failed in enumerate(flags):
        own = OSError() if failed else None
        error = verdict(tasks, rank, own, develop)
        if failed:
            assert error is own
        else:
            assert ranks_of(error) == [rank for rank, failed in enumerate(flags) if failed]


def test_an_echo_of_another_error_is_told_as_such() -> None:
    """ENV-18: the vague error is kept as the cause."""
    echo = OSError("vague")
    error = verdict([task(0, failed=True), task(1, failed=True, vague=True)], 1, echo, False)
    assert ranks_of(error) == [0]
    assert error is not None
    assert error.__cause__ is echo


def test_vague_errors_are_believed_where_nobody_has_a_better_one() -> None:
    own = OSError("vague")
    assert verdict([task(0, failed=True, vague=True), task(1)], 0, own, False) is own


def test_a_mismatch_reaches_all() -> None:
    tasks = [task(0, size=1), task(1, size=1), task(2, size=2)]
    for rank in range(3):
        error = verdict(tasks, rank, None, False)
        assert isinstance(error, InconsistentArgumentsError)
        assert (error.operation, error.arguments, error.ranks) == ("set_size", ["size"], [1, 2])


def test_own_error_comes_before_a_mismatch_except_in_develop_mode() -> None:
    own = ValueError()
    tasks = [task(0, size=1), task(1, failed=True, size=-1)]
    assert verdict(tasks, 1, own, False) is own
    error = verdict(tasks, 1, own, True)
    assert isinstance(error, InconsistentArgumentsError)
    assert error.__cause__ is own


@pytest.mark.parametrize("develop", [False, True])
def test_a_task_that_left_with_an_error_is_no_mismatch(develop: bool) -> None:
    error = verdict([task(0, "write_at_all"), task(1, "close", failed=True)], 0, None, develop)
    assert isinstance(error, RemoteTaskError)
    assert (error.operation, error.ranks) == ("close", [1])


@pytest.mark.parametrize(
    ("value", "expected"), [("DEVELOP", True), ("develop", True), ("NORMAL", False), ("", False), (None, False)]
)
def test_develop_mode_by_environment(value: str | None, expected: bool) -> None:
    assert develop_from_environment({} if value is None else {"MP_EUIDEVELOP": value}) is expected


def test_things_that_look_like_numbers_are_hashed() -> None:
    """An error while packing would keep this task from the others' allreduce."""
    assert as_number(np.array([1, 2])) == as_number(np.array([1, 2]))
    assert as_number(np.int32(4)) == 4
