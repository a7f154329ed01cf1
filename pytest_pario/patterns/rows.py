"""Short rows for suites: name, layout, piece, total, call, ranks.

row("contiguous-1M", segmented, 1 * MiB,     64 * MiB,   independent, 4)
row("strided-1k+8",  strided,   1 * KiB + 8, 1032 * KiB, collective,  16)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from pytest_pario.errors import ParameterError
from pytest_pario.model import Pattern
from pytest_pario.patterns.protocol import Layout
from pytest_pario.patterns.segmented import Segmented
from pytest_pario.patterns.strided import Strided

independent = False
collective = True

Shape: TypeAlias = Callable[[int, int, int], Layout]
"""Makes a layout from the bytes of a piece, the bytes of all ranks together, and the number of ranks."""


def segmented(piece: int, total: int, ranks: int) -> Segmented:
    """Each rank's pieces one after the other in its own stretch of the file, one call each."""
    count = _pieces_of_each(piece, total, ranks)
    return Segmented(count * piece, (piece,), count=count)


def strided(piece: int, total: int, ranks: int) -> Strided:
    """The ranks' pieces in turn, one call each."""
    return Strided(piece, ncalls=_pieces_of_each(piece, total, ranks))


def strided_at_once(piece: int, total: int, ranks: int) -> Strided:
    """The ranks' pieces in turn, all of a rank in one call."""
    return Strided(piece, per_call=_pieces_of_each(piece, total, ranks))


def row(  # noqa: PLR0917 - a row of a table
    name: str, shape: Shape, piece: int, total: int, coll: bool, ranks: int, **more: Any
) -> Pattern:
    """A pattern on a fixed number of ranks; `more` are further fields of it."""
    try:
        layout = shape(piece, total, ranks)
    except ParameterError as error:
        raise ParameterError(f"{name}: {error.name}", error.value, error.allowed, error.origin) from None
    return Pattern(name, layout, coll, ranks, **more)


def _pieces_of_each(piece: int, total: int, ranks: int) -> int:
    for parameter, value in (("piece", piece), ("total", total), ("ranks", ranks)):
        if value < 1:
            raise ParameterError(parameter, value, "1 or more")
    _require_multiple(total, piece, f"{piece} B pieces")
    _require_multiple(total, piece * ranks, f"{piece} B pieces for each of {ranks} ranks")
    return total // (piece * ranks)


def _require_multiple(total: int, unit: int, what: str) -> None:
    if total % unit:
        nearest = max(1, (total + unit // 2) // unit) * unit
        raise ParameterError("total", total, f"a whole number of {what}; nearest is {nearest} B")
