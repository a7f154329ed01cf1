"""Communicators for tests: never COMM_WORLD itself, and new ones after a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_pario import mpi

if TYPE_CHECKING:
    from mpi4py import MPI

PLENTY = 256
"""So many communicators every library has; MPICH has 2048."""
SPARE = 8
"""Communicators that the next test may make for itself at one time."""


class Communicators:
    """World, and its first n ranks, the latter made when first asked for (GEN-11).

    A failed test may leave messages or half-done collectives in its communicator, which the next test would
    receive; so `renew` gives up all of them. They are not freed: that could wait for an operation that never ends, and
    MPICH gives the number of a freed communicator, and the messages that are still under way for it, to the next one.
    """

    def __init__(self, world: MPI.Intracomm) -> None:
        """Keep a private duplicate from which all others are made."""
        self._private: MPI.Intracomm = world.Dup()
        self._generation = 0
        self._made: dict[int, Any] = {world.Get_size(): self._private.Dup()}

    def first(self, ranks: int) -> MPI.Intracomm:
        """Communicator of ranks 0..ranks-1 in world order; only they call this."""
        if ranks not in self._made:
            group = self._private.Get_group().Incl(range(ranks))
            # collective over the members only: the other ranks sleep
            self._made[ranks] = self._private.Create_group(group, self._generation % 32000)
        return self._made[ranks]  # type: ignore[no-any-return]

    def renew(self) -> str | None:
        """Forget all communicators after a failed test; all ranks call this. Say why no other test can run, if so."""
        self._generation += 1
        try:
            made = self._private.Dup()
            if self._generation + SPARE > PLENTY:
                for spare in [self._private.Dup() for _ in range(SPARE)]:
                    spare.Free()  # never used, so that nothing is under way in it
        except mpi.load().Exception as error:
            # MPIR_Get_contextid_sparse_group(567): Too many communicators (0/2048 free on this process; ignore_id=0)
            reason = str(error).strip().splitlines()[-1].rpartition("): ")[2] or str(error)
            spent = f"{self._generation} failed one{'s' if self._generation > 1 else ''} gave up theirs"
            return f"no communicator is left for another test ({spent}): {reason.strip()}"
        self._made = {self._private.Get_size(): made}
        return None
