"""Runs of b_eff_io side by side, such as those of several hint sets. Pure but for reading the files (BEFF-67)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_pario.errors import ParameterError
from pytest_pario.model import Access
from pytest_pario.workloads.beffio.averages import ACCESSES, DEFINITIONS, Definition, access_value, partition_value
from pytest_pario.workloads.beffio.table import TYPES

SETTINGS = (
    "release",
    "mpart",
    "noshared",
    "limit_bytes",
    "rewrite",
    "partitions",
    "max_segment",
    "segment_align",
    "unique_open",
    "termination",
    "flush",
)
"""What runs must have in common to show what hints do."""


@dataclass(frozen=True)
class Saved:
    """One run as pytest-benchmark saved it."""

    name: str
    definition: Definition
    total_s: float
    types: Mapping[tuple[int, Access, int], float]
    """MB/s by partition, access method and type."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the run was asked for, where the file says it."""
    valid: bool | None = None
    """Whether all criteria were reached; None where the file does not say it."""

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
    try:
        return _saved(str(path), told, data.get("beffio"))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        allowed = f"entries of b_eff_io as this program saves them: {type(error).__name__} {error}"
        raise ParameterError("file", str(path), allowed) from error


def _saved(name: str, told: Sequence[Mapping[str, Any]], overview: Mapping[str, Any] | None) -> Saved:
    types: dict[tuple[int, Access, int], float] = {}
    for one in told:
        if one["part"] == "type":
            if one["access"] not in ACCESSES or one["type"] not in range(len(TYPES)):
                raise ValueError(f"access {one['access']!r}, type {one['type']!r}")
            types[int(one["n"]), one["access"], int(one["type"])] = float(one["value_mb_s"])
    definition = _definition(told[0]["definition"])
    # a run that was saved before the overview was has its settings with the system value, if with anything
    facts = overview or next((one for one in told if one["part"] == "system"), {})
    valid = facts.get("valid")
    settings = {**facts.get("settings", {}), **{key: facts[key] for key in ("release",) if key in facts}}
    return Saved(name, definition, float(told[0]["T"]), types, settings, valid if isinstance(valid, bool) else None)


def _definition(definition: object) -> Definition:
    found = next((one for one in DEFINITIONS if one == definition), None)
    if found is None:
        raise ValueError(f"definition {definition!r}, not one of {', '.join(DEFINITIONS)}")
    return found


def compare_lines(runs: Sequence[Saved]) -> list[str]:
    """Types of each access method side by side, and the value of each run; other definitions are refused."""
    definitions = {run.definition for run in runs}
    if len(definitions) > 1:
        told = ", ".join(f"{run.name} is {run.definition}" for run in runs)
        raise ParameterError(
            "definition", told, "the same in all runs: values of different releases are weighted apart"
        )
    lines = [*map(_run_line, runs), *_difference_lines(runs), ""]
    if len({run.total_s for run in runs}) > 1:
        times = ", ".join(f"{run.name} {run.total_s:g} s" for run in runs)
        lines += [f"T differs ({times}): a shorter T can give a higher value through caching", ""]
    width = max(len(run.name) for run in runs) + 2
    for n in sorted({n for run in runs for n in run.partitions}):
        lines.append(f"n={n}, MB/s (10^6)")
        lines.append(f"{'access':<9}{'run':<{width}}" + "".join(f"{name:>11}" for name in (*TYPES, "average")))
        for access in ACCESSES:
            lines += [_line(access, run, n, width) for run in runs if any(a == access for a, _ in run.of(n))]
        lines += [_average_line(run, n, width) for run in runs if partition_value("1.x", run.of(n)).complete]
        lines += [_value(run, n, runs[0], width) for run in runs] + [""]
    return lines[:-1]


def _run_line(run: Saved) -> str:
    """What a run was: hints, T, MPART, validity."""
    validity = {True: "valid for comparison", False: "NOT VALID for comparison", None: "validity not saved"}[run.valid]
    hints = run.settings.get("hints") or ("no hint file" if run.settings else "hint file not saved")
    given = run.settings.get("given_hints") or {}
    hints += f" ({' '.join(f'{key}={value}' for key, value in sorted(given.items()))} by parameters)" if given else ""
    mpart = f"MPART {run.settings['mpart']} B" if "mpart" in run.settings else "MPART not saved"
    nothing = "" if run.types else "; no type of it is complete: nothing to compare"
    return f"{run.name}: {hints}, T = {run.total_s:g} s, {mpart}, {validity}{nothing}"


def _difference_lines(runs: Sequence[Saved]) -> list[str]:
    """A warning for each setting in which the runs differ."""
    lines = []
    for name in SETTINGS:
        told = {run.name: run.settings[name] for run in runs if name in run.settings}
        if len({json.dumps(value) for value in told.values()}) > 1:
            values = ", ".join(f"{run} {value}" for run, value in told.items())
            lines.append(f"warning: {name} differs ({values}): the runs did not measure the same")
    return lines


def _average_line(run: Saved, n: int, width: int) -> str:
    """Each type by the weights of release 1.x, where all of it was rewritten (BEFF-36)."""
    types = run.of(n)
    # 0.25*write + 0.25*rewrite + 0.5*read
    cells = [
        0.25 * types["write", kind] + 0.25 * types["rewrite", kind] + 0.5 * types["read", kind]
        for kind in range(len(TYPES))
    ]
    return f"{'average':<9}{run.name:<{width}}" + "".join(map(_cell, (*cells, partition_value("1.x", types).value)))


def _line(access: Access, run: Saved, n: int, width: int) -> str:
    types = run.of(n)
    values = [types.get((access, kind)) for kind in range(len(TYPES))]
    return f"{access:<9}{run.name:<{width}}" + "".join(map(_cell, (*values, access_value(access, types).value)))


def _value(run: Saved, n: int, first: Saved, width: int) -> str:
    definition = run.definition
    mine, base = (partition_value(definition, one.of(n)) for one in (run, first))
    told = f"b_eff_io {run.name:<{width}}"
    if mine.value is None:
        return f"{told}incomplete, without {', '.join(mine.missing)}"
    ratio = f", {mine.value / base.value:.3f} of {first.name}" if base.value and run is not first else ""
    return f"{told}{mine.value:.1f} (definition {definition}){ratio}"


def _cell(value: float | None) -> str:
    return f"{'-':>11}" if value is None else f"{value:>11.1f}"
