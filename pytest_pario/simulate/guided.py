"""Guided prefetch on modelled storage: programs say which ranges come next, and nodes read them ahead (GPFS-42)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pytest_pario.schemes.prefetch import FilePrefetcher, Range, covering_ranges, guided_accesses, needs_guidance
from pytest_pario.simulate.engine import Process, Step
from pytest_pario.simulate.programs import Program
from pytest_pario.simulate.storage import Storage


@dataclass
class _Asker:
    """What one process asks of the file's prefetcher; grants are kept until they are sent to the nodes."""

    file: FilePrefetcher
    granted: list[Range] = field(default_factory=list)

    def hint(self, soon: Sequence[Range], finished: Sequence[Range]) -> int:
        """Ask on; the first ones are granted."""
        count = self.file.hint(soon, finished)
        self.granted += soon[:count]
        return count


def guided(program: Program, storage: Storage, file: FilePrefetcher, max_pre: int, max_acc: int) -> list[Process]:
    """Processes that read one covering range per striping unit; `max_acc` of 0 gives no hint."""
    return [_reader(program, storage, rank, file, max_pre, max_acc) for rank in range(program.processes)]


def _reader(  # noqa: PLR0917 - what a hint needs
    program: Program, storage: Storage, rank: int, file: FilePrefetcher, max_pre: int, max_acc: int
) -> Process:
    for request in program.calls_of(rank):
        ranges = covering_ranges(request.offsets, request.lengths, storage.unit)
        hinted = max_acc and needs_guidance(request.offsets, request.lengths)
        if hinted:
            yield from _hinted(ranges, program, storage, file, max_pre, max_acc)
        else:
            yield from (("move", storage.cut(*one, program.base), False) for one in ranges)
        if program.compute_s:
            yield "wait", program.compute_s


def _hinted(  # noqa: PLR0917 - what a hint needs
    ranges: Sequence[Range], program: Program, storage: Storage, file: FilePrefetcher, max_pre: int, max_acc: int
) -> Iterator[Step]:
    asker = _Asker(file)
    for offset, length in guided_accesses(ranges, asker, max_pre, max_acc):
        ahead = [piece for one in asker.granted for piece in storage.cut(*one, program.base)]
        asker.granted.clear()
        if ahead:
            yield "prefetch", ahead
        yield "move", storage.cut(offset, length, program.base), False
