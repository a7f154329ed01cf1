"""Rates of one pattern against the number of clients, with their efficiency (CONS-09). Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_pario.units import mib_per_s


@dataclass(frozen=True)
class ClientRow:
    """One pattern and phase on one number of clients."""

    sweep: str
    """Name of the pattern and phase, the same for any number of clients."""
    clients: int
    mib_s: float


def client_rows(extra_info: Mapping[str, Any], seconds: Sequence[float]) -> list[ClientRow]:
    """The row of a benchmark entry that belongs to a sweep; none of any other."""
    moved = extra_info.get("moved_bytes")
    if not extra_info.get("sweep") or not moved:
        return []
    rates = [mib_per_s(size, elapsed) for size, elapsed in zip(moved, seconds, strict=False)]
    return [ClientRow(str(extra_info["sweep"]), int(extra_info["ranks"]), statistics.median(rates))]


def format_clients(rows: Iterable[ClientRow]) -> list[str]:
    """Lines of the table, none without a sweep over several numbers; efficiency is rate(n) / (n * rate(1))."""
    found = sorted(set(rows), key=lambda row: (row.sweep, row.clients))
    counts = Counter(sweep for sweep, _ in {(row.sweep, row.clients) for row in found})
    rows = [row for row in found if counts[row.sweep] > 1]
    if not rows:
        return []
    alone = {row.sweep: row.mib_s for row in rows if row.clients == 1}
    width = max(len(row.sweep) for row in rows)
    lines = [f"{'pattern':<{width}}  {'clients':>7}  {'MiB/s':>9}  {'efficiency':>10}"]
    for row in rows:
        one = alone.get(row.sweep)
        efficiency = f"{row.mib_s / (row.clients * one):>10.0%}" if one else ""
        lines.append(f"{row.sweep:<{width}}  {row.clients:>7}  {row.mib_s:>9.1f}  {efficiency}".rstrip())
    return lines
