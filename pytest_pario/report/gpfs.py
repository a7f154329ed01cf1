"""The results of the MPI-IO/GPFS benchmarks: one figure for each test, and what is compared with what. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Told = Mapping[str, Any]
"""What a test keeps of itself: `workloads.gpfs.replications.plain` and the parameters of its row."""


@dataclass(frozen=True)
class Figure:
    """One test."""

    name: str
    """Pattern and phase."""
    like: str
    phase: str
    ranks: int
    told: Told

    @property
    def rate(self) -> float:
        """MB/s for the whole job (GPFS-01)."""
        return float(self.told["figure_mb_s"])


def gpfs_lines(figures: Iterable[Figure]) -> list[str]:
    """Figure, sigma, replications; ratio to POSIX with the same layout (GPFS-06), on to off of partitioning."""
    figures = list(figures)
    width = max((len(one.name) for one in figures), default=4)
    head = f"{'MB/s of the job':<{width}}  {'ranks':>5}  {'figure':>9}         {'sigma':>8}  {'n':>3}  {'x POSIX':>8}"
    return [head, *(_line(one, figures, width) for one in figures), *_switches(figures)]


def _line(one: Figure, figures: Sequence[Figure], width: int) -> str:
    sigma = one.told["sigma_mb_s"]
    spread = "-" if sigma is None else f"{sigma:.1f}"
    posix = _partner(one, figures, "way", "posix")
    ratio = "" if posix is None or posix is one else f"{one.rate / posix.rate:.2f}"
    line = f"{one.name:<{width}}  {one.ranks:>5}  {one.rate:>9.1f} {one.told['summary']:<7} {spread:>8}"
    line += f"  {one.told['replications']:>3}  {ratio:>8}"
    notes = list(one.told.get("flags", ()))
    if one.told["dropped_mb_s"]:
        notes.append("dropped " + ", ".join(f"{rate:.1f}" for rate in one.told["dropped_mb_s"]))  # GPFS-45
    return (line + ("  " + "; ".join(notes) if notes else "")).rstrip()


def _switches(figures: Sequence[Figure]) -> list[str]:
    """On against off of the partitioning benchmark, read and write separately (GPFS-21)."""
    lines = []
    for one in figures:
        if one.told.get("switch") != "on":
            continue
        off = _partner(one, figures, "switch", "off")
        if one.told.get("ignored"):
            lines.append(f"partitioning, {one.phase}, {one.ranks} ranks: {one.told['ignored']}")
        elif off is not None:
            dropped = one.told.get("dropped_hints")
            why = f" by UNIQUE_OPEN alone, the library dropped {', '.join(dropped)}" if dropped else ""
            lines.append(f"partitioning, {one.phase}, {one.ranks} ranks: on / off {one.rate / off.rate:.2f}{why}")
    return lines


def _partner(one: Figure, figures: Sequence[Figure], key: str, value: str) -> Figure | None:
    """The test of the same layout, phase and ranks that is told to be so."""
    same = (other for other in figures if (other.like, other.phase, other.ranks) == (one.like, one.phase, one.ranks))
    return next((other for other in same if other.told.get(key) == value), None)
