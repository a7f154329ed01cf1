"""Runs of b_eff_io side by side, such as those of several hint sets. Pure but for reading the files (BEFF-67)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_pario.errors import ParameterError
from pytest_pario.model import Access
from pytest_pario.workloads.beffio.averages import ACCESSES, access_value, partition_value
from pytest_pario.workloads.beffio.table import TYPES


@dataclass(frozen=True)
class Saved:
    """One run as pytest-benchmark saved it."""

    name: str
    definition: str
    total_s: float
    types: Mapping[tuple[int, Access, int], float]
    """MB/s by partition, access method and type."""

    @property
    def partitions(self) -> tuple[int, ...]:
        """Partitions of which something was measured."""
        return tuple(sorted({n for n, _, _ in self.types}))

    def of(self, n: int) -> dict[tuple[Access, int], float]:
        """Type values of a partition."""
        return {(access, kind): value for (size, access, kind), value in self.types.items() if size == n}


def read_saved(path: str | Path) -> Saved:
    """Read the JSON file of a run; a file that holds no run of b_eff_io is an error that names it."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        benchmarks: Sequence[Mapping[str, Any]] = data["benchmarks"]
        told = [one["extra_info"]["beffio"] for one in benchmarks if "beffio" in one.get("extra_info", {})]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ParameterError("file", str(path), f"JSON of pytest-benchmark that can be read: {error}") from error
    if not told:
        raise ParameterError("file", str(path), "the JSON of a run of b_eff_io (--benchmark-json); it holds none")
    types = {(one["n"], one["access"], one["type"]): one["value_mb_s"] for one in told if one["part"] == "type"}
    return Saved(str(path), str(told[0]["definition"]), float(told[0]["T"]), types)


def compare_lines(runs: Sequence[Saved]) -> list[str]:
    """Types of each access method side by side, and the value of each run; other definitions are refused."""
    definitions = {run.definition for run in runs}
    if len(definitions) > 1:
        told = ", ".join(f"{run.name} is {run.definition}" for run in runs)
        raise ParameterError(
            "definition", told, "the same in all runs: values of different releases are weighted apart"
        )
    lines = []
    if len({run.total_s for run in runs}) > 1:
        times = ", ".join(f"{run.name} {run.total_s:g} s" for run in runs)
        lines += [f"T differs ({times}): a shorter T can give a higher value through caching", ""]
    width = max(len(run.name) for run in runs) + 2
    for n in sorted({n for run in runs for n in run.partitions}):
        lines.append(f"n={n}, MB/s (10^6)")
        lines.append(f"{'access':<9}{'run':<{width}}" + "".join(f"{name:>11}" for name in (*TYPES, "average")))
        for access in ACCESSES:
            lines += [_line(access, run, n, width) for run in runs if any(a == access for a, _ in run.of(n))]
        lines += [_value(run, n, runs[0], width) for run in runs] + [""]
    return lines[:-1]


def _line(access: Access, run: Saved, n: int, width: int) -> str:
    types = run.of(n)
    values = [types.get((access, kind)) for kind in range(len(TYPES))]
    return f"{access:<9}{run.name:<{width}}" + "".join(map(_cell, (*values, access_value(access, types).value)))


def _value(run: Saved, n: int, first: Saved, width: int) -> str:
    definition: Any = run.definition
    mine, base = (partition_value(definition, one.of(n)) for one in (run, first))
    told = f"b_eff_io {run.name:<{width}}"
    if mine.value is None:
        return f"{told}incomplete, without {', '.join(mine.missing)}"
    ratio = f", {mine.value / base.value:.3f} of {first.name}" if base.value and run is not first else ""
    return f"{told}{mine.value:.1f} (definition {definition}){ratio}"


def _cell(value: float | None) -> str:
    return f"{'-':>11}" if value is None else f"{value:>11.1f}"
