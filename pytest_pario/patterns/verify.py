"""Verifier of files: plain POSIX reads, compared with what the extent tables say (GEN-04 a, GEN-05..07)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pytest_pario.errors import ParameterError
from pytest_pario.model import Damage, Plan
from pytest_pario.patterns.check import file_size
from pytest_pario.patterns.diagnosis import Finding, diagnose
from pytest_pario.patterns.expected import Expected, expect
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.stamp import Content

REGION = 4 << 20
"""Bytes compared at once; memory is bounded by a few times this much and the extent tables."""


def verify_file(
    path: str | Path,
    plans: Plan | Sequence[Plan],
    content: Content,
    *,
    size: int | None = None,
    background: int | None = None,
    part: tuple[int, int] = (0, 1),
    rank: int | None = None,
    writer: int | None = None,
    begin: int = 0,
    exact: bool = True,
) -> Damage | None:
    """Compare part i of k of a file, read with plain POSIX reads, with the plans that wrote it; None if all is right.

    `size` is the exact size where it is more than what the plans reach. `background` is the byte that holes must hold;
    None leaves them alone (GEN-05). `rank` names the owner of a file that one rank has to itself, and `writer` by whom
    it is stamped where that is not the rank. `begin` leaves out what lies before it, and without `exact` the file may
    be longer: so one pattern of a chain is looked at.
    """
    plans = [plans] if isinstance(plans, Plan) else list(plans)
    ranks = None if rank is None else [rank]
    writers = {rank: writer} if rank is not None and writer is not None else {}
    wanted = size if size is not None else _planned_size(plans, rank)
    start, stop = (begin + place for place in share(max(0, wanted - begin), *part))
    expected = expect(plans, content, start, stop, ranks=ranks, writers=writers)
    scan = _Scan(str(path), plans, expected, wanted, background)
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        scan.compare(np.empty(0, np.uint8), start, min(REGION, stop - start))
        scan.bad_bytes = stop - start
        return scan.damage("the file does not exist")
    try:
        scan.run(handle, start, stop)
        if exact and part[0] == part[1] - 1:
            scan.measure(handle)
    finally:
        os.close(handle)
    return scan.damage()


def merge(damages: Iterable[Damage | None]) -> Damage | None:
    """One damage for all parts: the first wrong byte, and the sum of the wrong bytes."""
    found = sorted((d for d in damages if d is not None), key=lambda damage: damage.offset)
    return replace(found[0], bad_bytes=sum(d.bad_bytes for d in found)) if found else None


def share(size: int, index: int, count: int) -> tuple[int, int]:
    """Part `index` of `count` of a file: disjoint, complete, and of nearly the same size."""
    if not 0 <= index < count:
        raise ParameterError("part", (index, count), "i of k with 0 <= i < k")
    return size * index // count, size * (index + 1) // count


def _planned_size(plans: Sequence[Plan], rank: int | None) -> int:
    tables = (plan.ranks if rank is None else [plan.ranks[rank]] for plan in plans)
    return max((file_size(part) for part in tables), default=0)


class _Scan:
    """One pass over a stretch of a file."""

    def __init__(self, path: str, plans: list[Plan], expected: Expected, size: int, background: int | None) -> None:
        self.path, self.plans, self.expected, self.size, self.background = path, plans, expected, size, background
        self.bad_bytes = 0
        self.finding: Finding | None = None
        self._image = np.empty(REGION, dtype=np.uint8)
        self._differs = np.empty(REGION, dtype=bool)

    def run(self, handle: int, start: int, stop: int) -> None:
        """Compare [start, stop) region by region."""
        buffer = np.empty(REGION, dtype=np.uint8)
        for first in range(start, stop, REGION):
            length = min(REGION, stop - first)
            got = read_fully(handle, buffer[:length], first)
            self.compare(buffer[:got], first, length)

    def compare(self, found: Bytes, start: int, length: int) -> None:
        """Compare the bytes found from `start` on; what is missing of `length` bytes is wrong, too."""
        image = self._image[:length]
        if self.background is None:
            image[: found.size] = found
            image[found.size :] = 0
        else:
            image[:] = self.background
        self.expected.fill(image, start)
        differs = np.not_equal(image[: found.size], found, out=self._differs[: found.size])
        bad = int(np.count_nonzero(differs)) + length - found.size
        if bad and self.finding is None:
            at = int(np.argmax(differs)) if differs.any() else found.size
            self.finding = Finding(start + at, start, image.copy(), found.copy())
        self.bad_bytes += bad

    def measure(self, handle: int) -> None:
        """A file that is too long is wrong, too."""
        extra = os.fstat(handle).st_size - self.size
        if extra > 0:
            self.bad_bytes += extra
            if self.finding is None:
                head = np.frombuffer(os.pread(handle, 4096, self.size), dtype=np.uint8)
                self.finding = Finding(self.size, self.size, head[:0], head)

    def damage(self, guess: str | None = None) -> Damage | None:
        """What was found, explained; None where all is right."""
        if not self.bad_bytes or self.finding is None:
            return None
        seen = diagnose(self.path, self.finding, self.expected, self.plans, self.size)
        return replace(seen, bad_bytes=self.bad_bytes, guess=guess or seen.guess)


def read_fully(handle: int, out: Bytes, offset: int) -> int:
    """Read until `out` is full or the file ends; returns the bytes read."""
    done = 0
    while done < out.size:
        got = os.preadv(handle, [out[done:].data], offset + done)
        if got == 0:
            break
        done += got
    return done
