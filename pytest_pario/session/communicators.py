"""Communicators for tests: never COMM_WORLD itself, and new ones after a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpi4py import MPI


class Communicators:
    """World, and its first n ranks, the latter made when first asked for (GEN-11).

    A failed test may leave messages or half-done collectives in its communicator, which the next test would
    receive; so `renew` gives up all of them. They are not freed: that could wait for an operation that never ends.
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

    def renew(self) -> None:
        """Forget all communicators after a failed test; all ranks call this."""
        self._generation += 1
        self._made = {self._private.Get_size(): self._private.Dup()}
