"""The table of a sweep, and the files that carry its recommendation. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_pario.model import Pattern
from pytest_pario.workloads.beffio.hintfile import ALL, BUFFER, CHUNKS, ON_OPEN
from pytest_pario.workloads.sweep.analysis import LEVEL, Cell, Swept

AT_OPEN_ONLY = ("cb_nodes", "cb_config_list", "romio_no_indep_rw", "striping_factor", "striping_unit", "start_iodevice")
"""Hints that ROMIO reads at open only (ENV-21)."""


def sweep_lines(found: Sequence[Swept], *, rounds: int, library: str) -> list[str]:
    """Hint set by pattern: rate, ratio to the default with its interval, what did not act, what is recommended."""
    lines = [
        f"ratio to the default of the same rounds, more is better; {LEVEL:.0%} interval over {rounds} rounds; {library}"
    ]
    for one in found:
        width = max(len(cell.hints.name) for cell in one.cells)
        lines += ["", f"{one.pattern} {one.phase}", f"  {'hints':<{width}}  {'MiB/s':>9}  {'ratio':>6}  interval"]
        ordered = [one.cells[0], *sorted(one.cells[1:], key=lambda cell: (not cell.acted, -cell.ratio))]
        lines += [_line(cell, width, cell is one.recommended) for cell in ordered]
        best = one.recommended
        if best is one.cells[0]:
            lines.append("  recommended: the default, no set surely gains")
        else:
            lines.append(f"  recommended: {best.hints.name} ({best.ratio:.2f} [{best.low:.2f}, {best.high:.2f}])")
    return lines


def _line(cell: Cell, width: int, recommended: bool) -> str:
    head = f"  {cell.hints.name:<{width}}  {cell.rate:>9.1f}"
    if not cell.hints.hints:
        return head
    if cell.dropped:
        return f"{head}  has not acted: the library dropped {', '.join(cell.dropped)}"
    if cell.as_default:
        return f"{head}  has not acted: the same hints are in force as by default"
    mark = "  <" if recommended else ""
    return f"{head}  {cell.ratio:>6.2f}  [{cell.low:.2f}, {cell.high:.2f}]{mark}"


def romio_hints_text(swept: Swept) -> str:
    """A file for ROMIO_HINTS: one `key value` a line; empty where the default is best."""
    return "".join(f"{key} {value}\n" for key, value in sorted(swept.recommended.hints.hints.items()))


def beffio_hints_text(found: Sequence[Swept], patterns: Mapping[str, Pattern]) -> str:
    """A hint options file of b_eff_io with the recommendation for each type, access method and chunk size (BEFF-54)."""
    lines = ["# recommended by a sweep: procs access type chunk key value"]
    for one in found:
        kind, chunk = type_of(patterns[one.pattern]), chunk_of(patterns[one.pattern])
        hints = one.recommended.hints.hints
        if kind is None:
            lines.append(f"# {one.pattern} {one.phase}: no pattern type of b_eff_io is like it")
            continue
        if not hints:
            lines.append(f"# {one.pattern} {one.phase}: the default is best")
        for key, value in sorted(hints.items()):
            # what is read at open only, and a buffer that must not grow afterwards, is asked for at open
            place = ON_OPEN if key in AT_OPEN_ONLY or key == BUFFER or chunk == ALL else chunk
            lines.append(f"all {one.phase} {kind} {place} {key} {value}")
    return "\n".join(lines) + "\n"


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


def chunk_of(pattern: Pattern) -> str:
    """The chunk size as a hint options file names it; `all` where it has no word for it."""
    told = pattern.layout.parameters()
    chunks = told.get("chunks")
    size = told.get("block") or (chunks[0] if isinstance(chunks, (list, tuple)) and chunks else None)
    return str(size) if str(size) in CHUNKS else ALL
