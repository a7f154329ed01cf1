"""The table of a sweep, and the files that carry its recommendation. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_pario.environment.stripe import driver_of
from pytest_pario.model import Pattern
from pytest_pario.workloads.beffio.hintfile import BUFFER, CHUNKS, DEFAULT_BUFFER, ON_OPEN
from pytest_pario.workloads.sweep.analysis import LEVEL, Cell, Swept, coverage
from pytest_pario.workloads.sweep.decision import ALPHA
from pytest_pario.workloads.sweep.matrix import DEFAULT_NAME

AT_OPEN_ONLY = ("cb_nodes", "cb_config_list", "romio_no_indep_rw", "striping_factor", "striping_unit", "start_iodevice")
"""Hints that ROMIO reads at open only (ENV-21)."""


def sweep_lines(found: Sequence[Swept], *, library: str) -> list[str]:
    """Hint set by pattern: rate, ratio to the default with its interval, what did not act, what is recommended."""
    lines = [f"ratio to the default of the same rounds, more is better; {library}", *_legend(found)]
    for one in found:
        width = max(len(cell.hints.name) for cell in one.cells)
        lines += ["", f"{one.pattern} {one.phase}", f"  {'hints':<{width}}  {'MiB/s':>9}  {'ratio':>6}  interval"]
        ordered = [one.cells[0], *sorted(one.cells[1:], key=_place)]
        lines += [_line(cell, width, cell is one.recommended) for cell in ordered]
        lines.append(f"  recommended: {_recommendation(one)}")
    return lines


def _legend(found: Sequence[Swept]) -> list[str]:
    """How many rounds stand behind an interval, and how sure it is."""
    counts = {cell.screened.rounds for one in found for cell in one.cells}
    lines = [f"interval of all sets: {_level(count)} over {count} rounds" for count in sorted(counts)]
    fresh = {cell.tested.estimate.rounds for one in found for cell in one.cells if cell.tested}
    return lines + [
        f"t: tested in {count} fresh rounds, interval {_level(count)}; where nothing gains, "
        f"{ALPHA:.0%} of sweeps at most recommend a set"
        for count in sorted(fresh)
    ]


def _level(rounds: int) -> str:
    return f"{min(LEVEL, coverage(rounds)):.0%}"


def _place(cell: Cell) -> tuple[bool, bool, float]:
    return not cell.acted, cell.tested is None, -cell.estimate.ratio


def _recommendation(swept: Swept) -> str:
    best = swept.recommended
    if best is not swept.cells[0]:
        found = best.estimate
        return f"{best.hints.name} ({found.ratio:.2f} [{found.low:.2f}, {found.high:.2f}])"
    if swept.too_few:
        count = sum(cell.tested is not None for cell in swept.cells)
        return f"the default; too few rounds for {count} sets: at least {swept.too_few} (--test-rounds)"
    return "the default, no set surely gains"


def _line(cell: Cell, width: int, recommended: bool) -> str:
    head = f"  {cell.hints.name:<{width}}  {cell.rate:>9.1f}"
    if not cell.hints.hints:
        return head
    if not cell.acted:
        return f"{head}  has not acted: {_reason(cell)}"
    mark = ("  t" if cell.tested else "") + ("  <" if recommended else "")
    found = cell.estimate
    return f"{head}  {found.ratio:>6.2f}  [{found.low:.2f}, {found.high:.2f}]{mark}"


def _reason(cell: Cell) -> str:
    told = [f"the library dropped {', '.join(cell.dropped)}"] if cell.dropped else []
    told += [f"{key}={cell.hints.hints[key]} asked, {value} in force" for key, value in sorted(cell.changed.items())]
    if cell.echoed:
        driver = driver_of(cell.in_force) or "the library"
        told.append(f"{', '.join(cell.echoed)} only echoed, {driver} sets no striping")
    if cell.same_as is not None:
        whom = "by default" if cell.same_as == DEFAULT_NAME else f"with {cell.same_as}"
        told.append(f"the same hints are in force as {whom}")
    return "; ".join(told)


def romio_hints_text(swept: Swept) -> str:
    """A file for ROMIO_HINTS: one `key value` a line; empty where the default is best."""
    return "".join(f"{key} {value}\n" for key, value in sorted(swept.recommended.hints.hints.items()))


def beffio_hints_text(found: Sequence[Swept], patterns: Mapping[str, Pattern]) -> str:
    """A hint options file of b_eff_io with the recommendation for each type, access method and chunk size (BEFF-54).

    A later line of such a file wins over an earlier one, so that recommendations which contradict each other would
    silently become the last of them: they are named in comments, and neither is taken.
    """
    lines = ["# recommended by a sweep: procs access type chunk key value"]
    places: dict[tuple[str, str, str], list[Swept]] = {}
    for one in found:
        kind, chunk = type_of(patterns[one.pattern]), chunk_of(patterns[one.pattern])
        if kind is None or chunk is None:
            what = "chunk size" if kind else "pattern type"
            lines.append(f"# {one.pattern} {one.phase}: no {what} of b_eff_io is like it")
            continue
        if not one.recommended.hints.hints:
            lines.append(f"# {one.pattern} {one.phase}: the default is best")
        for place in (ON_OPEN, chunk):
            places.setdefault((one.phase, kind, place), []).append(one)
    for (phase, kind, place), sources in sorted(places.items(), key=lambda item: item[0][2] != ON_OPEN):
        for key in sorted({key for one in sources for key in one.recommended.hints.hints}):
            lines += _rules(f"all {phase} {kind} {place}", key, place, sources)
    return "\n".join(lines) + "\n"


def _rules(head: str, key: str, place: str, sources: Sequence[Swept]) -> list[str]:
    """The line for one key at one place, or a comment on who wants what; nothing where the key belongs elsewhere."""
    wanted = {one.pattern: one.recommended.hints.hints.get(key) for one in sources}
    values = set(wanted.values())
    if key == BUFFER and place == ON_OPEN:
        # patterns may only shrink it: at open it must be as large as the largest of them
        largest = max(int(value) for value in values if value is not None)
        return [f"{head} {key} {largest}"] if largest > DEFAULT_BUFFER else []
    if (place == ON_OPEN) != (key in AT_OPEN_ONLY):
        return []
    if len(values) == 1:
        return [f"{head} {key} {values.pop()}"]
    told = ", ".join(f"{value or 'the default'} for {name}" for name, value in wanted.items())
    return [f"# {head} {key}: {told}; one of them must be chosen"]


def type_of(pattern: Pattern) -> str | None:
    """The pattern type of b_eff_io that is like a pattern; None where none is."""
    layout = pattern.layout.name
    if pattern.files == "each":
        return "separated"
    if pattern.pointer == "shared":
        return "shared"
    if layout == "strided" and pattern.coll:
        return "scatter"
    if layout == "segmented":
        return "seg_coll" if pattern.coll else "segmented"
    return None


def chunk_of(pattern: Pattern) -> str | None:
    """The chunk size as a hint options file names it; None where b_eff_io has no such chunk."""
    told = pattern.layout.parameters()
    chunks = told.get("chunks")
    size = told.get("block") or (chunks[0] if isinstance(chunks, (list, tuple)) and chunks else None)
    return str(size) if str(size) in CHUNKS else None
