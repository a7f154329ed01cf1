"""The pages of `pario simulate`: numbers of the model, put into words. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from pytest_pario.errors import ParameterError, UnknownParameterError
from pytest_pario.report.simulation import format_grid, format_plot, format_spread, format_sweeps, label
from pytest_pario.simulate.commands import (
    PAUSES,
    expected_peaks,
    guidance_rows,
    interference_rows,
    scaling_rows,
    seeds_of,
)
from pytest_pario.simulate.experiments import SEGMENTS, contention, mean_table, repartition, resonance_seeds
from pytest_pario.simulate.programs import SCHEMES
from pytest_pario.simulate.storage import Storage
from pytest_pario.units import MB, KiB, MiB, format_bytes, parse_bytes

ORIGIN = "command line"
TOTAL = 64 * MiB
"""Bytes that each modelled program reads."""
MOST_CALLS = 1_000_000
"""Modelled calls of one command: about a minute."""


def simulated_lines(model: str, arguments: Mapping[str, Any]) -> list[str]:
    """Everything that one model prints."""
    return _PAGES[model](_storage(arguments, model), arguments)


def _storage(arguments: Mapping[str, Any], model: str) -> Storage:
    """The storage that the command line describes; sizes may have units."""
    given: dict[str, Any] = {"lock_unit": 64 * KiB} if model == "locks" else {}
    kinds = {field.name: field.type for field in dataclasses.fields(Storage)}
    pairs = [tuple(text.partition("=")[::2]) for text in arguments.get("set") or ()]
    pairs += [(name, str(arguments[name])) for name in ("nodes", "unit") if arguments.get(name) is not None]
    for name, text in pairs:
        if name not in kinds:
            raise UnknownParameterError(name, kinds)
        given[name] = _number(f"storage.{name}", text, whole=kinds[name] == "int")
    return Storage(**given)


def _number(name: str, text: str, whole: bool) -> float:
    try:
        return parse_bytes(text) if whole else float(text)
    except ValueError:
        raise ParameterError(name, text, "a number, or a size such as 64KiB", ORIGIN) from None


def _resonance(storage: Storage, arguments: Mapping[str, Any]) -> list[str]:
    processes = tuple(arguments["processes"])
    segments = tuple(int(_number("--segments", text, True)) for text in arguments["segments"]) or SEGMENTS
    if any(size < 1 for size in segments):
        raise ParameterError("--segments", segments, "positive sizes", ORIGIN)
    schemes, seeds = tuple(arguments["schemes"]), seeds_of(arguments["seeds"])
    _require_few(segments, len(processes) * len(schemes) * len(seeds))
    found = resonance_seeds(storage, processes, segments, schemes, seeds=seeds, total_bytes=TOTAL)
    table = mean_table(found)
    lines = [_described(storage), "", *format_sweeps(table, "MB/s")]
    lines += ["", *format_spread(found, "least-most")] if arguments["seeds"] > 1 else []
    lines += [
        "",
        *format_plot({label(*key): {x: y / MB for x, y in rates.items()} for key, rates in table.items()}, "MB/s"),
    ]
    peaks = (
        f"N={n}: {format_bytes(round(size))}"
        for n, size in expected_peaks(storage, sorted({n for _, n in table})).items()
    )
    return [*lines, "", f"full resonance at N*s = M*u: {', '.join(peaks)}"]


def _require_few(segments: tuple[int, ...], runs: int) -> None:
    """Refuse what would model for hours."""
    calls = runs * sum(-(-TOTAL // size) for size in segments)
    if calls > MOST_CALLS:
        told = ", ".join(format_bytes(size) for size in segments)
        allowed = f"so large that at most {MOST_CALLS} calls are modelled, not {calls}: or fewer --seeds"
        raise ParameterError("--segments", told, allowed, ORIGIN)


def _interference(storage: Storage, _arguments: Mapping[str, Any]) -> list[str]:
    rows = interference_rows(storage)
    columns = [f"{pause:g} s" for pause in PAUSES]
    relative = {scheme: [row.relative for row in found] for scheme, found in rows.items()}
    rates = {scheme: [row.together / MB for row in found] for scheme, found in rows.items()}
    return [
        _described(storage),
        "",
        *format_grid("with / without the other", columns, relative),
        "",
        *format_grid("MB/s beside the other", columns, rates, 0),
        "columns: how long the other program computes between its calls",
    ]


def _scaling(storage: Storage, arguments: Mapping[str, Any]) -> list[str]:
    counts = tuple(arguments["processes"])
    rows = scaling_rows(storage, counts) if counts else scaling_rows(storage)
    columns = [str(n) for n in next(iter(rows.values()))]
    grid = format_grid("rate / rate of one process", columns, {name: list(row.values()) for name, row in rows.items()})
    return [_described(storage), "", *grid, "", *format_plot(rows, "times one process", show="number")]


def _locks(storage: Storage, _arguments: Mapping[str, Any]) -> list[str]:
    lines = [
        _described(storage),
        "",
        f"{'4 processes, records of 4 KiB':<32}{'MB/s':>8}{'tokens taken':>14}{'seeks':>8}",
    ]
    for scheme in SCHEMES:
        found = contention(scheme, 4 * KiB, storage)
        lines.append(f"{scheme:<32}{found.rate / MB:>8.1f}{found.revocations:>14}{found.discontinuities:>8}")
    buffer = 8 * storage.unit
    found = repartition(4 * KiB, buffer, storage)
    text = f"partitioned, IBM_io_buffer_size {format_bytes(buffer)} half way of twice as much"
    return [*lines, f"{text}: {found.restarts} restart, {found.revocations} tokens taken for blocks of another server"]


def _prefetch(storage: Storage, arguments: Mapping[str, Any]) -> list[str]:
    counts = tuple(arguments["processes"])
    rows = guidance_rows(storage, counts) if counts else guidance_rows(storage)
    columns = [f"{n} tasks" if n > 1 else "1 task" for n in next(iter(rows.values()))]
    named = {f"max_acc={acc}": list(found.values()) for acc, found in rows.items()}
    return [
        _described(storage),
        "",
        *format_grid("without the hint / with it", columns, named),
        "time to read two sub-blocks in each of 100 scattered blocks of every task",
    ]


def _described(storage: Storage) -> str:
    changed = [
        f"{field.name}={getattr(storage, field.name):g}"
        for field in dataclasses.fields(storage)
        if getattr(storage, field.name) != field.default and field.name not in ("nodes", "unit")
    ]
    parts = [f"{storage.nodes} nodes, striping unit {format_bytes(storage.unit)}", *changed]
    return ", ".join(parts)


_PAGES: Mapping[str, Callable[[Storage, Mapping[str, Any]], list[str]]] = {
    "resonance": _resonance,
    "interference": _interference,
    "scaling": _scaling,
    "locks": _locks,
    "prefetch": _prefetch,
}
