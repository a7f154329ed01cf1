"""A partitioned file on modelled storage: every block is served by one task, so that no lock token moves (GPFS-41).

The directives and the map are those of `schemes`: tasks start the partitioning together, ship what they move to the
server of each block, and stop. When IBM_io_buffer_size changes meanwhile, the partitioning begins anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_pario.errors import SimulationError
from pytest_pario.model import Extents
from pytest_pario.schemes.directives import Partitioning
from pytest_pario.schemes.shipping import ShippingMode
from pytest_pario.simulate.engine import Process, Step
from pytest_pario.simulate.storage import Storage

if TYPE_CHECKING:
    from pytest_pario.simulate.programs import Program


class PartitionedFile:
    """What the tasks of a program share: the state of the file, and when it changes."""

    def __init__(self, program: Program, storage: Storage, buffers: Sequence[int] = (), key: object = 0) -> None:
        """The program goes over its calls once, and once more with each further IBM_io_buffer_size of `buffers`."""
        self._program, self._storage, self._buffers, self._key = program, storage, tuple(buffers), key
        self.mode = ShippingMode(storage.unit, program.stripe)
        self.directives = Partitioning(self.mode.stripe)
        self.mode.partitioning = self.directives

    def processes(self) -> list[Process]:
        """One for each task."""
        return [self._task(rank) for rank in range(self._program.processes)]

    def _task(self, rank: int) -> Process:
        n, storage = self._program.processes, self._storage
        self.directives.start(rank, n)
        for number in range(1 + len(self._buffers)):
            # all operations have ended when one task sets the size for all
            yield "meet", (self._key, number, "ended"), n
            if rank == 0 and number:
                self.mode.resize(self._buffers[number - 1])
            yield "meet", (self._key, number, "set"), n
            yield "wait", storage.synchronisation_s(n)
            for request in self._program.calls_of(rank):
                yield from self._serve(rank, request)
                if self._program.compute_s:
                    yield "wait", self._program.compute_s
        self.directives.stop(rank)

    def _serve(self, rank: int, request: Extents) -> Iterator[Step]:
        """Every extent is a call of its own, its pieces served by those whose blocks they are."""
        storage, program, served_by = self._storage, self._program, self.directives.map
        if served_by is None:
            raise SimulationError(f"task {rank} accesses a file that is {self.directives.mode}, not partitioned")
        self.mode.begin()
        pieces = served_by.cut(request.offsets, request.lengths)
        servers = served_by.server_of(pieces.blocks).tolist()
        for server, offset, length in zip(servers, pieces.offsets.tolist(), pieces.lengths.tolist(), strict=True):
            if server != rank:
                # the data of a write and the command of a read, or the other way about
                yield "wait", storage.overhead_s + length / storage.link_rate
            yield "move", storage.cut(offset, length, program.base), program.writes, server
        self.mode.end()
