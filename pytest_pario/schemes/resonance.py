"""When requests and stripes are in step: every I/O node is visited by one process, in ascending order (RES-08..10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from pytest_pario.errors import ParameterError
from pytest_pario.patterns.strided import Strided
from pytest_pario.patterns.striping import bytes_on_nodes

SEGMENTS_PER_CALL = 4
"""Segments that a process of the demonstration program reads in one call (RES-04)."""


@dataclass(frozen=True)
class Resonance:
    """What becomes of n processes that read segments of s bytes in turn from striped storage."""

    disjoint: bool
    """Whether no node is visited by two processes."""
    busy_nodes: int
    """Nodes that work at any one time."""
    full: bool
    """Whether that is all of them."""


def resonates(n: int, segment: int, unit: int, nodes: int) -> Resonance:
    """Whether the demonstration program resonates: process i reads the segments k*n + i."""
    for name, value in (("n", n), ("segment", segment), ("unit", unit), ("nodes", nodes)):
        if value < 1:
            raise ParameterError(name, value, "1 or more")
    # the pattern repeats when all processes have gone a whole number of times round the nodes: lcm(n*s, M*u) bytes
    calls = max(SEGMENTS_PER_CALL, int(np.lcm(n * segment, nodes * unit)) // (n * segment))
    layout = Strided(segment, per_call=calls)
    visited = np.array([bytes_on_nodes(layout.calls(rank, n), unit, nodes) > 0 for rank in range(n)])
    disjoint = bool((visited.sum(axis=0) <= 1).all())
    # n processes have n*s bytes under way, on n*s/u different nodes
    busy = min(nodes, max(1, n * segment // unit))
    return Resonance(disjoint, busy, disjoint and n * segment == nodes * unit and segment % unit == 0)


def peak_segment(n: int, unit: int, nodes: int) -> float:
    """The segment at which n processes resonate fully: N*s = M*u."""
    return nodes * unit / n


PROMINENT = 1.15
"""A rate that exceeds its neighbours' by this much stands out from the noise of the usual machine."""
AGREEING = 2
"""Numbers of processes whose peaks have to imply the same stripe."""


@dataclass(frozen=True)
class Peak:
    """Where a sweep over segment sizes is fastest, and what striping that would mean."""

    segment: int
    rate: float
    """Mean over the rounds."""
    prominence: float
    """Rate at the peak over that of its better neighbour."""
    separated: bool
    """Whether the slowest round at the peak is faster than the fastest of its neighbours."""
    stripe_bytes: int
    """M * u = N * s: all nodes once, which is all that a peak tells; neither M nor u alone."""

    @property
    def is_peak(self) -> bool:
        """Whether it stands out from both sides by more than chance."""
        return self.separated and self.prominence >= PROMINENT


def find_peak(n: int, rounds: Mapping[int, Sequence[float]]) -> Peak | None:
    """The best inner point of a sweep, from the rates of each round; None where none exceeds both its neighbours.

    An end of a sweep is no peak: it may be a slope that goes on.
    """
    segments, rates = sorted(rounds), {size: fmean(found) for size, found in rounds.items()}
    inner = [
        (rates[mid] / max(rates[low], rates[high]), low, mid, high)
        for low, mid, high in zip(segments, segments[1:], segments[2:], strict=False)
        if rates[mid] > max(rates[low], rates[high])
    ]
    if not inner:
        return None
    prominence, low, mid, high = max(inner)
    separated = min(rounds[mid]) > max(*rounds[low], *rounds[high]) and len(rounds[mid]) > 1
    return Peak(mid, rates[mid], prominence, separated, n * mid)


def implied_stripe(scans: Mapping[int, Mapping[int, Sequence[float]]]) -> int | None:
    """M * u on which the peaks of two or more numbers of processes agree, and no other peak speaks against it."""
    peaks = [peak for n, rounds in scans.items() if (peak := find_peak(n, rounds)) is not None and peak.is_peak]
    stripes = {peak.stripe_bytes for peak in peaks}
    return stripes.pop() if len(stripes) == 1 and len(peaks) >= AGREEING else None
