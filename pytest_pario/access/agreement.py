"""Agreement of the tasks of a file before and after each collective call (GPFS-46..54).

Every task says in one allreduce whether its arguments are good and which call it is about to make; later, in another,
how the call ended. If anything is wrong somewhere all tasks exchange what they know and each raises an error:
its own, or the one that names the ranks that failed. The communicator is private, and an error on it ends the job:
without communication nothing can be agreed (GPFS-46).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pytest_pario import mpi
from pytest_pario.access.failures import is_vague
from pytest_pario.errors import InconsistentArgumentsError, RemoteTaskError

if TYPE_CHECKING:
    from mpi4py import MPI

PACKED_TERMS = 10
"""Length of the array that neighbours exchange; fixed, because tasks in different calls have different terms."""

KNOWN_TO = "pario_known_to"
"""Attribute of an error that an agreement raised: the ranks of all tasks that raised theirs with it."""

NOTHING: Mapping[str, object] = MappingProxyType({})


class Statement(NamedTuple):
    """What one task says about itself in a round that did not go well."""

    rank: int
    """Rank in the whole job."""

    call: str
    """The call that the task is in."""

    ended: bool
    """Whether the call has ended on this task; otherwise it has not begun."""

    failed: bool
    """Whether the task has an error of its own."""

    vague: bool
    """Whether that error may be the echo of another task's."""

    terms: dict[str, int]
    """What must be the same on all tasks, as numbers."""

    @property
    def place(self) -> tuple[str, bool]:
        """Where the task is in its program; equal on all tasks unless one strayed."""
        return self.call, self.ended


def stable_hash(value: object) -> int:
    """64-bit number of any value with a stable repr; the same on every task and in every run."""
    digest = hashlib.blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def as_number(value: object) -> int:
    """Pack an argument: integers as they are, everything else as its hash."""
    try:
        number = int(value.__index__())  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        return stable_hash(value)
    return number if -(1 << 63) <= number < 1 << 63 else stable_hash(number)


def neighbours_that_differ(statements: Sequence[Statement]) -> tuple[set[str], set[int]]:
    """Names of the terms that differ between any two neighbours, and the ranks that differ from their right one."""
    names: set[str] = set()
    ranks: set[int] = set()
    for mine, right in zip(statements, [*statements[1:], statements[0]], strict=True):
        # A task whose arguments are bad may have no value for some of the terms.
        common = mine.terms.keys() & right.terms.keys()
        differing = {name for name in common if mine.terms[name] != right.terms[name]}
        if mine.place != right.place:
            differing = {"call"}
        if differing:
            names |= differing
            ranks.add(mine.rank)
    return names, ranks


def verdict(statements: Sequence[Statement], me: int, own: BaseException | None, develop: bool) -> BaseException | None:
    """The error that this task raises, None if there is none on any task; the others raise theirs by the same rule.

    `statements` has one entry per task, this task's at index `me`. A task's own error says more than a mismatch, so it
    comes first; in develop mode, where mismatches are what one looks for, it becomes the cause.
    """
    failed = [statement for statement in statements if statement.failed]
    calls_differ = len({statement.place for statement in statements}) > 1

    # A task that left its work with an error is in another call than the rest: that is no mismatch to look for.
    if not failed or (develop and not calls_differ):
        names, ranks = neighbours_that_differ(statements)
        if names:
            inconsistent = InconsistentArgumentsError(statements[me].call, names, ranks)
            inconsistent.__cause__ = own
            return inconsistent
    if not failed:
        return None

    # Some libraries pass a failure on as a vague error to tasks that met none themselves (ENV-18).
    first_hand = [statement for statement in failed if not statement.vague] or failed
    if own is not None and statements[me] in first_hand:
        return own
    remote = RemoteTaskError(first_hand[0].call, [statement.rank for statement in first_hand])
    remote.__cause__ = own
    return remote


def develop_from_environment(environment: Mapping[str, str]) -> bool:
    """Whether `MP_EUIDEVELOP` asks for the neighbour check of arguments (GPFS-50)."""
    return environment.get("MP_EUIDEVELOP", "").upper() == "DEVELOP"


class Agreement:
    """The private communicator of a file's tasks and the rounds they hold on it.

    Every round has the same messages whatever the call, so that tasks in different calls still understand each other.
    """

    def __init__(self, comm: MPI.Comm, develop: bool | None = None) -> None:
        """Collective over `comm`; develop mode is on for all if it is on for any."""
        codes = mpi.load()
        self.comm = comm.Dup()
        self.comm.Set_errhandler(codes.ERRORS_ARE_FATAL)
        self.rank: int = codes.COMM_WORLD.Get_rank()
        wanted = develop_from_environment(os.environ) if develop is None else develop
        self.develop = mpi.agree(self.comm, wanted)
        self._maximum = codes.MAX
        self._sequence = 0

    def before(
        self, call: str, own: BaseException | None, same: Mapping[str, object], develop: Mapping[str, object]
    ) -> None:
        """Agree that all arguments are good, or raise on every task (GPFS-47, GPFS-50).

        `same` must agree always, which costs nothing; `develop` is compared in develop mode only.
        """
        error, _ = self.hold(call, own, same, develop)
        if error is not None:
            raise error

    def after(self, call: str, own: BaseException | None) -> None:
        """Agree that the call succeeded on all tasks, or raise on every task (GPFS-49)."""
        error, _ = self.hold(call, own, ended=True)
        if error is not None:
            raise error

    def hold(
        self,
        call: str,
        own: BaseException | None = None,
        same: Mapping[str, object] = NOTHING,
        develop: Mapping[str, object] = NOTHING,
        ended: bool = False,
    ) -> tuple[BaseException | None, bool]:
        """Hold a round; return this task's verdict and whether all tasks are at the same place."""
        self._sequence += 1
        always = {name: as_number(value) for name, value in same.items()}
        terms = always | {name: as_number(value) for name, value in self._develop_terms(develop).items()}
        statement = Statement(self.rank, call, ended, own is not None, is_vague(own), terms)
        if self._all_is_well(statement, always):
            return None, True
        statements = self.comm.allgather(statement)
        error = verdict(statements, self.comm.rank, own, self.develop)
        if error is not None:
            setattr(error, KNOWN_TO, frozenset(each.rank for each in statements))
        return error, len({each.place for each in statements}) == 1

    def knows(self, error: BaseException) -> bool:
        """Whether all tasks of this agreement already raised an error together with this one."""
        told: frozenset[int] = getattr(error, KNOWN_TO, frozenset())
        return told.issuperset(self._ranks()) or (error.__cause__ is not None and self.knows(error.__cause__))

    def free(self) -> None:
        """Give the communicator back; collective."""
        self.comm.Free()

    def _develop_terms(self, develop: Mapping[str, object]) -> Mapping[str, object]:
        return {"sequence number": self._sequence, **develop} if self.develop else NOTHING

    def _all_is_well(self, statement: Statement, always: Mapping[str, int]) -> bool:
        if self.comm.size == 1:
            return not statement.failed
        # The maximum of x and of -x shows whether all x are equal; 62 bits, so that both fit.
        fingerprint = stable_hash((statement.place, sorted(always.items()))) >> 2
        mismatch = self.develop and self._differs_from_right(statement)
        mine = np.array([statement.failed or mismatch, fingerprint, -fingerprint], dtype=np.int64)
        most = np.empty_like(mine)
        self.comm.Allreduce(mine, most, op=self._maximum)
        return bool(most[0] == 0 and most[1] == -most[2])

    def _differs_from_right(self, statement: Statement) -> bool:
        """Send the packed terms to the left neighbour and compare with those of the right one (GPFS-50)."""
        mine = np.zeros(PACKED_TERMS, dtype=np.int64)
        packed = [stable_hash(statement.place), *statement.terms.values()]
        mine[: len(packed)] = packed
        right = np.empty_like(mine)
        rank, size = self.comm.rank, self.comm.size
        self.comm.Sendrecv(mine, dest=(rank - 1) % size, recvbuf=right, source=(rank + 1) % size)
        return not np.array_equal(mine, right)

    def _ranks(self) -> set[int]:
        group, world = self.comm.Get_group(), mpi.load().COMM_WORLD.Get_group()
        try:
            return set(group.Translate_ranks(None, world))
        finally:
            group.Free()
            world.Free()
