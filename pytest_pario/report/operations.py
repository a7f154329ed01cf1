"""The table of operations of a run: what one costs, how many per second, and how that grows with clients. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class OperationRow:
    """One case on one number of clients."""

    case: str
    clients: int
    seconds: tuple[float, ...]
    """Of the slowest process, for one operation of each round."""
    per_second: tuple[float, ...] = ()
    """Operations of all clients; empty where only one process operates, whatever the number of clients."""
    together: bool = False
    """Whether each operation is one of all clients together, so that more clients do not do more of them."""

    @property
    def rate(self) -> float | None:
        """Median over the rounds."""
        return statistics.median(self.per_second) if self.per_second else None


def operation_row(extra_info: Mapping[str, Any], seconds: Sequence[float]) -> OperationRow | None:
    """The row of a benchmark entry; None where it is not one of operations."""
    if not extra_info.get("case") or extra_info.get("sweep"):
        return None
    each = extra_info.get("seconds_per_operation") or seconds
    rates = extra_info.get("operations_per_s_max") or ()
    together = bool(extra_info.get("together"))
    return OperationRow(str(extra_info["case"]), int(extra_info["clients"]), tuple(each), tuple(rates), together)


def format_operations(rows: Iterable[OperationRow]) -> list[str]:
    """Lines of the table; efficiency is rate(n) / (n * rate(1)) (CONS-09)."""
    rows = sorted(rows, key=lambda row: row.clients)
    cases = dict.fromkeys(row.case for row in rows)
    width = max((len(case) for case in cases), default=4)
    alone = {row.case: row.rate for row in rows if row.clients == 1}
    head = f"{'seconds per operation':<{width}}  {'clients':>7}  {'median':>9}  {'min':>9}  {'max':>9}"
    lines = [f"{head}  {'operations/s':>12}  {'efficiency':>10}"]
    for case in sorted(cases):
        lines += [_line(row, width, alone.get(case)) for row in rows if row.case == case]
    return lines


def _line(row: OperationRow, width: int, alone: float | None) -> str:
    median = statistics.median(row.seconds)
    line = f"{row.case:<{width}}  {row.clients:>7}  {median:>9.3g}  {min(row.seconds):>9.3g}  {max(row.seconds):>9.3g}"
    if row.rate is None:
        return line
    efficiency = f"{row.rate / (row.clients * alone):>10.0%}" if alone and not row.together else ""
    return f"{line}  {row.rate:>12.0f}  {efficiency}".rstrip()
