"""The bandwidth table of a run: rates, more is better. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_pario.units import mib_per_s


@dataclass(frozen=True)
class BandwidthRow:
    """Rates of one test in MiB/s."""

    name: str
    ranks: int
    rates: tuple[float, ...]
    before: float | None = None
    """Median rate of the run that is compared with."""
    note: str = ""
    """What a reader must know of the number: the state of the caches, flags."""

    @property
    def median(self) -> float:
        """Median over the rounds."""
        return statistics.median(self.rates)


def rates_of(moved_bytes: Sequence[int], seconds: Sequence[float]) -> tuple[float, ...]:
    """Rate of each round in MiB/s."""
    return tuple(mib_per_s(moved, elapsed_s) for moved, elapsed_s in zip(moved_bytes, seconds, strict=True))


def format_rows(rows: Iterable[BandwidthRow]) -> list[str]:
    """Lines of the table; the change against an earlier run is that of the median, + is faster."""
    rows = list(rows)
    width = max((len(row.name) for row in rows), default=4)
    compared = any(row.before is not None for row in rows)
    head = f"{'MiB/s':<{width}}  {'ranks':>5}  {'median':>9}  {'min':>9}  {'max':>9}  {'rounds':>6}"
    lines = [head + (f"  {'before':>9}  {'change':>7}" if compared else "")]
    for row in rows:
        line = (
            f"{row.name:<{width}}  {row.ranks:>5}  {row.median:>9.1f}  {min(row.rates):>9.1f}  "
            f"{max(row.rates):>9.1f}  {len(row.rates):>6}"
        )
        if row.before is not None:
            line += f"  {row.before:>9.1f}  {row.median / row.before - 1:>+7.1%}"
        lines.append(line + (f"  {row.note}" if row.note else ""))
    return lines


def median_before(compared: Mapping[str, object]) -> float | None:
    """Median rate in a saved pytest-benchmark entry; None where it holds no bytes or no data."""
    info, stats = compared.get("extra_info"), compared.get("stats")
    if not isinstance(info, Mapping) or not isinstance(stats, Mapping) or not info.get("moved_bytes"):
        return None
    seconds = stats.get("data") or [stats["median"]]
    moved = list(info["moved_bytes"])[: len(seconds)]
    return statistics.median(rates_of(moved, seconds))


def note_of(record: Mapping[str, object]) -> str:
    """Cache state of a read, time that was not spent on I/O, and the flags of a record, in a few words."""
    flags, phase = record.get("flags"), record.get("phase")
    facts = record.get("facts")
    known = facts if isinstance(facts, Mapping) else {}
    cache = known.get("cache")
    words = [str(cache["state"])] if isinstance(cache, Mapping) and phase == "read" else []
    # BTIO: bytes by the time of steps and output, not a rate of I/O
    words += ["computing included"] if phase == "write" and known.get("mode") == "solved" else []
    return ", ".join([*words, *(map(str, flags) if isinstance(flags, Sequence) else ())])


def dropped_hints(records: Iterable[Mapping[str, object]]) -> list[str]:
    """One line about hints that were asked for and are not in force: they have not acted (CONS-57)."""
    dropped: dict[str, int] = {}
    for record in records:
        facts = record.get("facts")
        hints = facts.get("hints") if isinstance(facts, Mapping) else None
        for key in hints.get("dropped", ()) if isinstance(hints, Mapping) else ():
            dropped[key] = dropped.get(key, 0) + 1
    told = ", ".join(f"{key} ({count} test{'s' if count > 1 else ''})" for key, count in sorted(dropped.items()))
    return [f"hints that the library dropped: {told}"] if told else []
