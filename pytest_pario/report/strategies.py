"""Strategies compared: one table, rates with their spread, each against the library's own collective call. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_pario.schemes.resonance import AGREEING, find_peak, implied_stripe
from pytest_pario.units import format_bytes

REFERENCE = "native"


@dataclass(frozen=True)
class StrategyRow:
    """Rates of one row, phase and strategy on some ranks."""

    row: str
    phase: str
    ranks: int
    strategy: str
    rates: tuple[float, ...]
    """MiB/s of each round."""

    @property
    def mean(self) -> float:
        """Mean over the rounds (RES-29)."""
        return statistics.fmean(self.rates)

    @property
    def variation(self) -> float | None:
        """Coefficient of variation; None for a single round."""
        return statistics.stdev(self.rates) / self.mean if len(self.rates) > 1 else None


def ratio_interval(one: Sequence[float], reference: Sequence[float]) -> tuple[float, float, float]:
    """Ratio of the means, and the least and most that any two rounds give."""
    mean = statistics.fmean(one) / statistics.fmean(reference)
    return mean, min(one) / max(reference), max(one) / min(reference)


def format_strategies(rows: Iterable[StrategyRow]) -> list[str]:
    """Lines of the table, the strategies of a row below each other."""
    rows = list(rows)
    names = max((len(f"{row.row}/{row.phase}") for row in rows), default=4)
    width = max((len(row.strategy) for row in rows), default=8)
    known = {(row.row, row.phase, row.ranks): row for row in rows if row.strategy.partition(":")[0] == REFERENCE}
    lines = [
        f"{'MiB/s':<{names}}  {'ranks':>5}  {'strategy':<{width}}  {'mean':>9}  {'cv':>5}"
        f"  against {REFERENCE} [least, most]"
    ]
    for row in sorted(rows, key=lambda one: (one.row, one.phase, one.ranks)):
        spread = f"{row.variation:>5.0%}" if row.variation is not None else f"{'-':>5}"
        name = f"{row.row}/{row.phase}"
        line = f"{name:<{names}}  {row.ranks:>5}  {row.strategy:<{width}}  {row.mean:>9.1f}  {spread}"
        reference = known.get((row.row, row.phase, row.ranks))
        if reference is not None and reference is not row:
            ratio, least, most = ratio_interval(row.rates, reference.rates)
            line += f"  {ratio:>5.2f} [{least:.2f}, {most:.2f}]"
        lines.append(line)
    return lines


def format_interference(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Both programs of each run, with and without the other: means, and the least and most of the passes (RES-38)."""
    heads = ("alone", "beside", "other alone", "other beside")
    lines = [
        f"{'MiB/s, two programs':<24}{'pause':>8}"
        + "".join(f"{head:>24}" for head in heads)
        + "   beside/alone  caches"
    ]
    for row in rows:
        cells = (row[name] for name in ("alone", "together", "other_alone", "other_together"))
        told = "".join(f"{statistics.fmean(c):.1f} [{min(c):.1f}, {max(c):.1f}]".rjust(24) for c in cells)
        name = row["strategy"].partition(":")[0]
        lines.append(f"{name:<24}{row['compute_s']:>6g} s{told}{row['relative']:>15.2f}  {row['cache']['state']}")
    return lines


def format_scan(scans: Mapping[int, Mapping[int, Sequence[float]]], judged: bool = True) -> list[str]:
    """Rates of a sweep over segment sizes for each number of processes, and the striping that they imply.

    A sweep that is too short to tell is not `judged`.
    """
    lines = []
    for n, rounds in sorted(scans.items()):
        told = ", ".join(
            f"{format_bytes(size)} {statistics.fmean(rates):.0f} [{min(rates):.0f}, {max(rates):.0f}]"
            for size, rates in sorted(rounds.items())
        )
        lines.append(f"{n} processes, MiB/s by segment [least, most]: {told}")
        peak = find_peak(n, rounds) if judged else None
        if peak is not None and peak.is_peak:
            lines.append(
                f"  peak at {format_bytes(peak.segment)} ({peak.prominence:.2f} times the better neighbour): "
                f"N*s = {format_bytes(peak.stripe_bytes)}"
            )
    return [*lines, *([_verdict(scans)] if judged and scans else [])]


def _verdict(scans: Mapping[int, Mapping[int, Sequence[float]]]) -> str:
    stripe = implied_stripe(scans)
    if stripe is None:
        return f"no peak: nothing is implied about the striping (it takes {AGREEING} numbers of processes that agree)"
    return f"M*u = {format_bytes(stripe)}: all numbers of processes that peak do so at this N*s"
