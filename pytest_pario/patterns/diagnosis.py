"""What happened to wrong bytes, as far as the bytes themselves show it (GEN-07)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from pytest_pario.model import Damage, Extents, Plan
from pytest_pario.patterns.expected import Expected
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.search import find
from pytest_pario.patterns.stamp import Content, cut
from pytest_pario.patterns.stream import ANY_WRITER, LENGTH, Stream, make_stream

WINDOW = 4096
"""Bytes that are looked at."""
NEEDLE = 24
"""Bytes by which a piece of a stream is recognised; fewer than SHORTEST prove nothing."""
SHORTEST = 8
MOST_WRITERS = 1024
"""Writers whose streams are searched."""


@dataclass(frozen=True, eq=False)
class Finding:
    """The region with the first wrong byte."""

    offset: int
    """The first wrong byte."""
    start: int
    """Offset at which both arrays begin."""
    wanted: Bytes
    found: Bytes
    """Shorter than wanted where the file ended, longer where it should have ended."""

    def byte(self, which: Bytes) -> int | None:
        """The first wrong byte in one of the arrays; None past its end."""
        at = self.offset - self.start
        return int(which[at]) if at < which.size else None


def diagnose(path: str, finding: Finding, expected: Expected, plans: Sequence[Plan], size: int) -> Damage:
    """Describe the first wrong byte; the count of wrong bytes is that of this region."""
    wanted, found = finding.byte(finding.wanted), finding.byte(finding.found)
    number = expected.find(finding.offset) if wanted is not None else None
    rank = None if number is None else int(expected.ranks[number])
    call = None if rank is None else _call_of(plans, rank, finding.offset)
    if wanted is None:
        guess = f"the file is longer than its {size} B"
    elif found is None:
        guess = f"the file ends at {finding.offset}, and should have {size} B"
    else:
        guess = _guess(finding, expected, plans, number)
    return Damage(path, finding.offset, wanted, found, 1, rank, call, guess)


def _call_of(plans: Sequence[Plan], rank: int, offset: int) -> int | None:
    for plan in plans:
        extent = _extent_of(plan.ranks[rank], offset)
        if extent is not None:
            return int(np.searchsorted(plan.ranks[rank].bounds, extent, side="right")) - 1
    return None


def _extent_of(table: Extents, offset: int) -> int | None:
    holds = np.flatnonzero((table.offsets <= offset) & (offset < table.offsets + table.lengths))
    return int(holds[0]) if holds.size else None


def _guess(finding: Finding, expected: Expected, plans: Sequence[Plan], number: int | None) -> str:
    """Look at the rest of the extent first, then at whatever follows."""
    at = finding.offset - finding.start
    wanted, found = finding.wanted[at : at + WINDOW], finding.found[at : at + WINDOW]
    size = found.size if number is None else min(found.size, int(expected.ends[number]) - finding.offset)
    text = _constant(found[:size]) or _few(wanted[: found.size], found, size)
    if not text and number is not None:
        text = _older(expected, number, finding.offset, found[:size])
    needles = list(_needles(wanted[: found.size], found))
    text = text or _displaced(expected, plans, number, finding.offset, needles)
    return text or _beginning(found) or "none of the stamps of this run"


def _constant(found: Bytes) -> str | None:
    if not found.any():
        return "zeros: a hole, nothing was written"
    same = found.size >= SHORTEST and bool((found == found[0]).all())
    return f"bytes of 0x{found[0]:02x} only: a fill pattern, nothing was written" if same else None


def _beginning(found: Bytes) -> str | None:
    run = int(np.argmax(found != found[0])) or found.size
    return f"begins with {run} bytes of 0x{found[0]:02x}: a part was not written" if run >= SHORTEST else None


def _few(wanted: Bytes, found: Bytes, size: int) -> str | None:
    """A few scattered bytes; not the last bytes of an extent where the damage goes on in the next."""
    differs = wanted != found
    if size < SHORTEST <= np.count_nonzero(differs[size : size + 2 * SHORTEST]):
        return None
    bad = int(np.count_nonzero(differs[:size]))
    is_run = size >= SHORTEST and bool(differs[:SHORTEST].all())
    if is_run or bad > max(1, size // SHORTEST):
        return None
    return f"{bad} of {size} bytes differ, in the first of them bits 0x{wanted[0] ^ found[0]:02x}"


def _older(expected: Expected, number: int, offset: int, found: Bytes) -> str | None:
    content, rank = expected.content, int(expected.ranks[number])
    begin = int(expected.sources[number] + offset - expected.offsets[number])
    for generation in _generations(content):
        if not _stream(content, expected.writer(rank), generation).count_differences(found, begin):
            return f"generation {generation} in place of {content.generation}: the later write did not arrive"
    return None


def _displaced(
    expected: Expected, plans: Sequence[Plan], number: int | None, offset: int, needles: list[tuple[int, Bytes]]
) -> str | None:
    """Find the bytes in the streams of all writers, and the offset for which they were meant."""
    own = None if number is None else int(expected.ranks[number])
    content = expected.content
    generations = (content.generation, *range(content.generation - 1, -1, -1)[:1])
    for (skip, needle), generation in product(needles, generations):
        for rank in _suspects(own, plans[0].n):
            place = find(_stream(content, expected.writer(rank), generation), needle)
            meant = None if place is None else _meant_for(plans, content, rank, place, offset + skip)
            if meant is not None:
                return _describe(plans, rank, own, meant - skip, offset) + f", generation {generation}"
    return None


def _needles(wanted: Bytes, found: Bytes) -> Iterator[tuple[int, Bytes]]:
    """Some short cuts of the wrong bytes; the first of them may be of other origin than the rest."""
    for skip in (0, 1, SHORTEST, NEEDLE, found.size // 2):
        differs = found[skip : skip + NEEDLE] != wanted[skip : skip + NEEDLE]
        if differs.size >= SHORTEST and differs.mean() > 0.75:
            yield skip, found[skip : skip + NEEDLE]


def _describe(plans: Sequence[Plan], rank: int, own: int | None, meant: int, offset: int) -> str:
    if rank == own:
        return f"the rank's own data of offset {meant}, shifted by {offset - meant:+d} bytes"
    if own is not None and any(_counterpart(plan, own, offset, rank) == meant for plan in plans):
        return f"data of rank {rank} of offset {meant}, the same place in the same call: ranks swapped"
    return f"data of rank {rank} of offset {meant}, displaced by {offset - meant:+d} bytes"


def _counterpart(plan: Plan, own: int, offset: int, other: int) -> int | None:
    """The offset at which the other rank has the byte that this rank has at `offset`."""
    mine, theirs = plan.ranks[own], plan.ranks[other]
    extent = _extent_of(mine, offset)
    if extent is None or extent >= len(theirs.offsets):
        return None
    return int(theirs.offsets[extent] + offset - mine.offsets[extent])


def _meant_for(plans: Sequence[Plan], content: Content, rank: int, place: int, offset: int) -> int | None:
    """The offset nearest to `offset` at which the rank should have put byte `place` of its stream."""
    best: int | None = None
    for plan in plans:
        cuts = cut(plan.ranks[rank], content, plan.pattern.mem)
        skip = (place - cuts.sources) % LENGTH
        fits = skip < cuts.lengths
        first, room = (cuts.offsets + skip)[fits], (cuts.lengths - skip - 1)[fits] // LENGTH
        # in cuts longer than the stream the byte occurs once in each
        nearest = first + np.clip((offset - first + LENGTH // 2) // LENGTH, 0, room) * LENGTH
        if nearest.size:
            candidate = int(nearest[np.argmin(np.abs(nearest - offset))])
            best = candidate if best is None or abs(candidate - offset) < abs(best - offset) else best
    return best


def _generations(content: Content) -> Iterator[int]:
    """Other generations, the latest first."""
    yield from range(content.generation - 1, max(-1, content.generation - 8), -1)
    yield content.generation + 1


def _suspects(own: int | None, n: int) -> list[int]:
    """The rank itself, then its neighbours near and far."""
    centre = own or 0
    return sorted(range(n), key=lambda rank: abs(rank - centre))[:MOST_WRITERS]


def _stream(content: Content, writer: int, generation: int) -> Stream:
    return make_stream(content.seed, ANY_WRITER if content.any_writer else writer, generation)
