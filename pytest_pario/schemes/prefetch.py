"""Guided prefetch: an agent that accesses scattered ranges tells the filesystem which come next (GPFS-42)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from pytest_pario.errors import ParameterError
from pytest_pario.model import Int64
from pytest_pario.patterns.pieces import split

Range = tuple[int, int]
"""Offset and length."""


def needs_guidance(offsets: Int64, lengths: Int64) -> bool:
    """Whether ranges are more than one and no regular stride: a filesystem sees anything else by itself."""
    if offsets.size <= 1:
        return False
    steps = np.diff(offsets)
    return bool((steps != steps[0]).any() or (lengths != lengths[0]).any())


def covering_ranges(offsets: Int64, lengths: Int64, block: int) -> list[Range]:
    """One range per file block, from the first byte to the last that is needed of it, in order."""
    _, begins, sizes = split(offsets, lengths, block)
    numbers, which = np.unique(begins // block, return_inverse=True)
    first = np.full(numbers.size, np.iinfo(np.int64).max)
    last = np.zeros(numbers.size, dtype=np.int64)
    np.minimum.at(first, which, begins)
    np.maximum.at(last, which, begins + sizes)
    return list(zip(first.tolist(), (last - first).tolist(), strict=True))


class Prefetcher(Protocol):
    """Whom the hint goes to."""

    def hint(self, soon: Sequence[Range], finished: Sequence[Range]) -> int:
        """Ask for some ranges and give others back; returns how many were granted, the first ones."""


@dataclass
class FilePrefetcher:
    """A model of the filesystem's side: a limit of outstanding grants per file, and lists of bounded length."""

    limit: int
    """Grants that a file may have outstanding; what is never given back counts for ever."""
    longest: int = 16
    """Ranges that each of the two lists may have."""
    outstanding: list[Range] = field(default_factory=list)
    most: int = 0
    """Most grants that were ever outstanding."""

    def hint(self, soon: Sequence[Range], finished: Sequence[Range]) -> int:
        """Take back first, then grant in order as long as the limit allows."""
        for name, ranges in (("soon", soon), ("finished", finished)):
            if len(ranges) > self.longest:
                raise ParameterError(f"access range hint: {name}", len(ranges), f"at most {self.longest} ranges")
        for one in finished:
            if one in self.outstanding:
                self.outstanding.remove(one)
        granted = min(len(soon), max(0, self.limit - len(self.outstanding)))
        self.outstanding += soon[:granted]
        self.most = max(self.most, len(self.outstanding))
        return granted


def guided_accesses(ranges: Sequence[Range], prefetcher: Prefetcher, max_pre: int, max_acc: int) -> Iterator[Range]:
    """Every range once and in order; before and between them the prefetcher is told what comes and what is done.

    `max_pre` ranges may be asked for at once, `max_acc` are accessed before new ones are asked for.
    """
    if max_pre < 1 or not 1 <= max_acc <= max_pre:
        raise ParameterError("max_acc", (max_acc, max_pre), "1 to max_pre, which is 1 or more")
    done, asked = 0, 0
    granted: list[Range] = []
    finished: list[Range] = []
    while done < len(ranges) or granted or finished:
        # ask for further ranges up to max_pre outstanding, and release those just accessed
        asked = max(asked, done)
        soon = list(ranges[asked : asked + max_pre - len(granted)])
        count = prefetcher.hint(soon, finished)
        granted += soon[:count]
        asked += count
        finished = []
        if done == len(ranges):
            return
        batch = ranges[done : done + (min(len(granted), max_acc) or 1)]
        yield from batch
        done += len(batch)
        finished = [one for one in batch if one in granted]
        granted = [one for one in granted if one not in finished]
