"""Protocol, summary and plot data of b_eff_io as text. Pure (BEFF-61..63)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_pario.model import Access
from pytest_pario.units import MB, MiB, format_bytes
from pytest_pario.workloads.beffio.averages import (
    ACCESSES,
    DEFINITIONS,
    Average,
    Definition,
    SystemValue,
    weighted_by_units,
    write_value_2,
)
from pytest_pario.workloads.beffio.results import PatternResult, Results, TypeResult
from pytest_pario.workloads.beffio.schedule import types_of
from pytest_pario.workloads.beffio.settings import Settings
from pytest_pario.workloads.beffio.table import CHUNK_LABELS, ROWS, TYPES, is_tabled
from pytest_pario.workloads.beffio.validity import Criterion, criteria, is_valid
from pytest_pario.workloads.beffio.values import access_of, partition_of, system_of

TICKS = {"1k": 1, "1k+8": 2, "32k": 4, "32k+8": 5, "1M": 7, "1M+8": 8, "MPART": 10}
"""Places of the chunk sizes on the pseudo-logarithmic axis of a plot (BEFF-63)."""
NONE = "-"


@dataclass(frozen=True)
class Run:
    """Everything that a report is made from."""

    settings: Settings
    results: Results
    errors: int = 0
    """Tests of the benchmark that failed."""
    header: Mapping[str, object] = field(default_factory=dict)
    """Release, path, system, host, operating system, machine, date."""
    segments: Mapping[int, int] = field(default_factory=dict)
    """LSEG of each partition."""

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """How the run stands to the rules of validity."""
        return criteria(self.settings, self.results, self.errors)

    @property
    def actual_s(self) -> float:
        """Measured time of everything, beside the scheduled time (BEFF-28)."""
        return sum(one.elapsed_s + (one.open_s or 0) + (one.close_s or 0) for one in self.results.patterns)


def header_lines(run: Run) -> list[str]:
    """What the run was (BEFF-04, BEFF-61)."""
    s, m = run.settings, run.settings.machine
    cache = "unknown (beff_fs_cache)" if s.fs_cache_bytes is None else format_bytes(s.fs_cache_bytes)
    told: dict[str, object] = {
        **run.header,
        "definition": s.definition,
        "T": f"{s.total_s:g} s scheduled, {run.actual_s:.1f} s measured",
        "memory per process": f"{s.memory_mib} MiB, MPART {s.mpart} B",
        "non-standard": ", ".join(s.deviations) or "nothing",
        "total memory": f"{m.total_memory_bytes // MiB} MiB",
        "partitions": f"{', '.join(map(str, s.partitions))} of {m.ranks} processes, {m.processes_per_node} per node",
        "filesystem's cache": cache,
        "options": ", ".join(_options(s)),
    }
    width = max(map(len, told))
    return ["b_eff_io", *(f"  {name:<{width}}  {value}" for name, value in told.items())]


def _options(s: Settings) -> list[str]:
    told = [f"rewrite={s.rewrite}", f"termination={s.termination}", f"flush={'yes' if s.flush else 'no'}"]
    told += ["noshared"] if s.noshared else []
    told.append(f"unique_open={'yes' if s.unique_open else 'no'}")
    told += [f"max_segment={s.max_segment}"] if s.max_segment is not None else []
    told += [f"limit={s.limit_bytes} B per pattern"] if s.limit_bytes is not None else []
    told += [f"hints={s.hints.path}"] if s.hints is not None else []
    told += [f"{key}={value}" for key, value in sorted(s.given_hints.items())]
    return [*told, f"dedicated={s.dedicated}"]


def protocol_lines(run: Run) -> list[str]:
    """One line per pattern, totals per type, access method and partition (BEFF-61)."""
    lines = header_lines(run)
    for n, access in _pairs(run):
        lines += ["", f"n={n} {access}", _PATTERN_HEAD]
        for kind in types_of(access, run.settings.definition, run.settings.rewrite):
            found = run.results.of_type(n, access, kind)
            lines += [_pattern_line(one) for one in found.patterns]
            lines += [_type_line(found, run.segments.get(n)), *_hint_lines(found)]
        told = _told(access_of(run.results, access, n))
        lines.append(f"  {access}, weighted average of the types: {told}")
    for n in run.settings.partitions:
        lines += ["", *_partition_lines(run, n)]
    return [*lines, "", *_system_lines(run)]


_PATTERN_HEAD = (
    f"  {'pattern':<22} {'T_p':>8} {'l':>9} {'L':>9} {'r':>7} {'bytes':>13} {'t_pat':>9} {'io':>8} {'barrier':>8} "
    f"{'bcast':>8} {'sync':>8} {'aside':>8} {'last io':>9} {'last dec':>9} "
    f"{'dec/io':>7} {'all/all':>7} {'MB/s':>10}  flags, hints"
)


def _pattern_line(one: PatternResult) -> str:
    asked = {**one.hints.get("on_open", {}), **one.hints.get("at_pattern", {})} if one.open_s is not None else {}
    asked |= one.hints.get("at_pattern", {})
    hints = " ".join(f"{key}={value}" for key, value in asked.items())
    dropped = one.hints.get("dropped", {})
    ratio, share = (NONE if cost is None else f"{cost:.3f}" for cost in (one.decision_ratio, one.decision_share))
    told = [*one.flags, hints, f"dropped: {' '.join(dropped)}" if dropped else ""]
    notes = ", ".join(text for text in told if text)
    return (
        f"  {one.row.name + ' ' + one.row.kind + ' ' + one.row.label:<22} {one.scheduled_s:>8.3f} "
        f"{one.chunk_bytes:>9} {one.call_bytes:>9} {one.repetitions:>7} {one.moved_bytes:>13} {one.elapsed_s:>9.4f} "
        f"{one.io_s:>8.4f} {one.barrier_s:>8.4f} {one.broadcast_s:>8.4f} {one.sync_s:>8.4f} {one.aside_s:>8.4f} "
        f"{one.last_call_s:>9.6f} {one.last_decision_s:>9.6f} {ratio:>7} {share:>7} {one.rate:>10.3f}  {notes}"
    ).rstrip()


def _hint_lines(found: TypeResult) -> list[str]:
    """Hints in force after the first pattern, and after each that changed them (BEFF-57)."""
    lines, before = [], None
    for one in found.patterns:
        in_force = one.hints.get("in_force")
        if in_force and in_force != before:
            told = " ".join(f"{key}={value}" for key, value in sorted(in_force.items()))
            lines.append(f"    in force after {one.row.name}: {told}")
        before = in_force or before
    return lines


def _type_line(found: TypeResult, segment: int | None) -> str:
    name = f"  = {TYPES[found.kind]}"
    if found.value is None:
        return f"{name}: incomplete, without {', '.join(found.missing)}"
    lseg = f", LSEG {segment} B" if found.kind >= 3 and segment is not None else ""
    return (
        f"{name}: {found.value:.3f} MB/s ({found.moved_bytes / MB / found.elapsed_s * MB / MiB:.3f} MiB/s), "
        f"{found.moved_bytes} B in {found.elapsed_s:.4f} s, t_open {found.open_s:.4f} s, t_close {found.close_s:.4f} s"
        f"{lseg}"
    )


def summary_lines(run: Run) -> list[str]:
    """Tables by chunk size and type for each partition, averages, validity (BEFF-62)."""
    lines = header_lines(run)
    for n in run.settings.partitions:
        for access in ACCESSES:
            if any((one.n, one.access) == (n, access) for one in run.results.patterns):
                lines += ["", *_table(run, n, access)]
        lines += ["", *_partition_lines(run, n)]
    return [*lines, "", *_system_lines(run), "", *validity_lines(run)]


def table_values(results: Results, n: int, access: Access) -> dict[str, dict[str, float | None]]:
    """MB/s by chunk size and type; None where it was not measured."""
    found = {one.number: one.rate for one in results.patterns if (one.n, one.access) == (n, access)}
    rows: dict[str, dict[str, float | None]] = {label: dict.fromkeys(TYPES) for label in CHUNK_LABELS}
    for row in ROWS:
        if is_tabled(row) and row.number in found:
            rows[row.label][row.kind] = found[row.number]
    return rows


def _table(run: Run, n: int, access: Access) -> list[str]:
    """Seven chunk sizes by five types, and the total from open to close."""
    lines = [f"n={n} {access}: MB/s (10^6)", f"  {'chunk':<8}" + "".join(f"{name:>12}" for name in TYPES)]
    for label, row in table_values(run.results, n, access).items():
        lines.append(f"  {label:<8}" + "".join(_cell(row[name]) for name in TYPES))
    totals = [run.results.of_type(n, access, kind).value for kind in range(len(TYPES))]
    lines.append(f"  {'total':<8}" + "".join(_cell(value) for value in totals))
    second = [one.rate for one in run.results.patterns if (one.n, one.access, one.number) == (n, access, 2)]
    if second:
        lines.append(f"  p02, 1M chunks with 2M calls, scatter: {second[0]:.1f}")
    weighted = weighted_by_units(
        (one.row.units, one.rate) for one in run.results.patterns if (one.n, one.access) == (n, access)
    )
    if weighted is not None:
        lines.append(f"  mean of the patterns weighted by their time, for information only: {weighted:.1f}")
    moved = run.results.moved_bytes(n, access)
    share = moved / run.settings.machine.total_memory_bytes
    # a balanced system moves about 1/6 of its memory per access method in 10 min (BEFF-05)
    lines.append(f"  moved {moved / MiB:.1f} MiB, {share:.1%} of the total memory")
    return lines


def _cell(value: float | None) -> str:
    return f"{NONE:>12}" if value is None else f"{value:>12.1f}"


def _partition_lines(run: Run, n: int) -> list[str]:
    types = run.results.type_values(n)
    lines = []
    for access in ACCESSES:
        value = access_of(run.results, access, n)
        if value.complete:
            lines.append(f"n={n} {access}: {_told(value)}")
    write2 = write_value_2(types)
    if write2.value is not None:
        lines.append(f"n={n} write part of release 2.0: {write2.value:.3f} MB/s")
    for definition in DEFINITIONS:
        average = partition_of(run.results, definition, n)
        if average.complete or definition == run.settings.definition:
            lines.append(f"n={n} b_eff_io (definition {definition}): {_told(average)}")
    return lines


def _told(average: Average) -> str:
    if average.value is None:
        return f"incomplete, without {_some(average.missing)}"
    return f"{average.value:.3f} MB/s"


def _system_lines(run: Run) -> list[str]:
    """The system value, and that by the other definition where the data suffice (BEFF-38)."""
    s = run.settings
    value = system_of(run.results, s.definition, s.partitions)
    if value.value is None:
        lines = [f"b_eff_io (definition {s.definition}): incomplete, without {_some(value.missing)}"]
    else:
        valid = "" if is_valid(run.criteria) else ", NOT VALID for comparison"
        lines = [_system_line(run, s.definition, value) + valid]
    others = [(one, system_of(run.results, one, s.partitions)) for one in DEFINITIONS if one != s.definition]
    # its order, time and rules were not those of the run
    return lines + [f"{_system_line(run, *one)}, for information only" for one in others if one[1].value is not None]


def _system_line(run: Run, definition: Definition, value: SystemValue) -> str:
    assert value.value is not None
    return (
        f"b_eff_io (definition {definition}, T = {run.settings.total_s:g} s): {value.value:.3f} MB/s "
        f"({value.value * MB / MiB:.3f} MiB/s) on {value.partition} processes"
    )


def validity_lines(run: Run) -> list[str]:
    """Each criterion with reached, not reached or unknown (BEFF-41)."""
    found = run.criteria
    head = "valid for comparison" if is_valid(found) else "NOT VALID for comparison"
    return [head, *(f"  {one.name:<16} {one.reached:<12} {one.told}" for one in found)]


def terminal_lines(run: Run, files: Sequence[str]) -> list[str]:
    """A screen for the end of a run: types by partition and access, values, validity in one line."""
    lines = [f"{'MB/s (10^6)':<18}" + "".join(f"{name:>12}" for name in TYPES) + f"{'average':>12}"]
    for n, access in _pairs(run):
        values = [run.results.of_type(n, access, kind).value for kind in range(len(TYPES))]
        average = access_of(run.results, access, n).value
        if any(value is not None for value in values):
            lines.append(f"{f'n={n} {access}':<18}" + "".join(_cell(value) for value in (*values, average)))
    lines += _system_lines(run)
    open_rules = [f"{one.name} {one.reached}" for one in run.criteria if one.reached != "reached"]
    lines += [f"criteria: {', '.join(open_rules)}"] if open_rules else []
    flags = sorted({flag for one in run.results.patterns for flag in one.flags})
    lines += [f"flags: {', '.join(flags)}"] if flags else []
    return [*lines, f"T = {run.settings.total_s:g} s scheduled, {run.actual_s:.1f} s measured", *files]


def plot_lines(run: Run) -> list[str]:
    """Comma-separated values: one curve per type, one diagram per access method and partition (BEFF-63)."""
    lines = ["partition,access,type,chunk,tick,mb_per_s"]
    for n, access in _pairs(run):
        for label, row in table_values(run.results, n, access).items():
            lines += [
                f"{n},{access},{name},{label},{TICKS[label]},{value:.3f}"
                for name, value in row.items()
                if value is not None
            ]
    return lines


def _pairs(run: Run) -> list[tuple[int, Access]]:
    return list(dict.fromkeys((one.n, one.access) for one in run.results.patterns))


def _some(missing: Sequence[str], most: int = 4) -> str:
    rest = f" and {len(missing) - most} more" if len(missing) > most else ""
    return ", ".join(missing[:most]) + rest
