"""The section of a session's end about BTIO: one line for each run, and the lines of NPB's own statistics. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_pario.report.btio import table_lines

HEAD = ("BTIO", "ranks", "total s", "Mop/s", "MB/s", "output s", "output MB/s", "read MB/s", "overhead s", "deviation")
NPB_HEAD = ("as NPB 3.4 counts it", "ranks", "I/O s", "I/O %", "MB/s", "verify I/O s", "verify MB/s")
LEGEND = (
    "MB is 10^6 bytes. MB/s: all bytes by the total, computing included (in replay: output, close and sync)",
    "overhead: total minus that of the same class without output; deviation: largest relative one of a norm",
)
MB = 1e6


def summary_lines(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Lines about the extra information of benchmarks; none where no run of BTIO is among them."""
    runs = [entry for entry in entries if entry.get("btio")]
    if not runs:
        return []
    without = {_alike(entry): entry["btio"]["total_s"] for entry in runs if entry["btio"]["subtype"] == "none"}
    lines = table_lines(HEAD, [_row(entry, without.get(_alike(entry))) for entry in runs])
    # notes are words, not a column of numbers
    notes = ["", *(_note(entry) for entry in runs)]
    told = [f"{line}  {note}".rstrip() for line, note in zip(lines, notes, strict=True)]
    counted = [entry for entry in runs if entry["btio"].get("npb")]
    npb = ["", *table_lines(NPB_HEAD, [_npb_row(entry) for entry in counted])] if counted else []
    return [*told, *LEGEND, *npb]


def _alike(entry: Mapping[str, Any]) -> tuple[object, ...]:
    """What a run with output and one without must have in common to be subtracted."""
    told = entry["btio"]
    return told["class"], told["mode"], told["engine"], entry["ranks"]


def _name(told: Mapping[str, Any]) -> str:
    return f"{told['class']} {told['subtype']} {told['mode']}"


def _row(entry: Mapping[str, Any], without_s: float | None) -> Sequence[str]:
    told = entry["btio"]
    has_output = told["subtype"] != "none"
    overhead_s = told["total_s"] - without_s if has_output and without_s is not None else None
    return (
        _name(told),
        str(entry["ranks"]),
        _number(told["total_s"], ".3f"),
        _number(told["mops"], ".0f"),
        _rate(told["effective_bytes_per_s"] if has_output else None),
        _number(told["io_s"] if has_output else None, ".3f"),
        _rate(told["io_bytes_per_s"] if has_output else None),
        _rate(told.get("readback_bytes_per_s")),
        _number(overhead_s, "+.3f"),
        _number(max((one for one in told["deviations"].values() if one is not None), default=None), ".1e"),
    )


def _npb_row(entry: Mapping[str, Any]) -> Sequence[str]:
    told = entry["btio"]["npb"]
    names = ("io_s", "io_percent", "io_mb_s", "verify_io_s", "verify_io_mb_s")
    forms = (".3f", ".1f", ".1f", ".3f", ".1f")
    numbers = [_number(told[name], form) for name, form in zip(names, forms, strict=True)]
    return [_name(entry["btio"]), str(entry["ranks"]), *numbers]


def _note(entry: Mapping[str, Any]) -> str:
    """Flags, and norms that have no published value to be compared with."""
    told, record = entry["btio"], entry.get("record") or {}
    unknown = [f"no value for {name}" for name, deviation in told["deviations"].items() if deviation is None]
    return ", ".join([*map(str, record.get("flags") or told.get("flags") or ()), *unknown])


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _rate(bytes_per_s: float | None) -> str:
    return _number(None if bytes_per_s is None else bytes_per_s / MB, ".1f")
