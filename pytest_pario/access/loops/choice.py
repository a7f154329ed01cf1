"""Which loop makes the calls here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_pario.access.loops.compiled import CompiledMember
from pytest_pario.access.loops.protocol import Member, Target
from pytest_pario.access.loops.python import PythonMember
from pytest_pario.errors import ParameterError, UnknownParameterError

if TYPE_CHECKING:
    from mpi4py import MPI

LOOPS: dict[str, Member] = {member.name: member for member in (CompiledMember(), PythonMember())}
"""All kinds of loops by name, the best first."""


def find_loop(name: str) -> Member:
    """Look a kind of loop up by its name; a miss lists what there is."""
    if name not in LOOPS:
        raise UnknownParameterError(name, ["auto", *LOOPS])
    return LOOPS[name]


def choose_loop(preference: str = "auto", *, target: Target = "mpi", comm: MPI.Intracomm | None = None) -> Member:
    """Take the kind that was asked for; `auto` is the first that works here.

    With a communicator all its tasks come to the same answer: a kind is used only if it works on every one of them.
    """
    names = list(LOOPS) if preference == "auto" else [find_loop(preference).name]
    reasons = []
    for name in names:
        reason = _shared_reason(LOOPS[name].unavailable_reason(target), comm)
        if reason is None:
            return LOOPS[name]
        reasons.append(reason)
    raise ParameterError("loop", preference, f"a kind that works here; {'; '.join(reasons)}", "choose_loop")


def _shared_reason(own: str | None, comm: MPI.Intracomm | None) -> str | None:
    """The first task's reason that there is, with its rank."""
    if comm is None:
        return own
    told: list[str | None] = comm.allgather(own)
    return next((f"rank {rank}: {reason}" for rank, reason in enumerate(told) if reason is not None), None)
