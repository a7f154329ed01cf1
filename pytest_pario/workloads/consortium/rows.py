"""Rows of the pattern suite: kinds, sizes and ways, with the user's parameters in place of the suite's columns. Pure.

Patterns and terms: B. Loewe, 2002-04-23 (CONS-10..24). A client moves blocks of one or more transfers; the blocks of
all clients make a segment; segments repeat at the distance of a stride, which is a segment and its padding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_pario.errors import ParameterError
from pytest_pario.model import Api, Open, Pattern, Pointer
from pytest_pario.patterns import Layout, RandomSizes, Segmented, Strided
from pytest_pario.units import KiB, MiB, format_bytes
from pytest_pario.workloads.consortium.table import TABLE
from pytest_pario.workloads.parameters import Parameters

Kind = Literal["segmented", "strided", "random", "general"]

# fmt: off
#            transfers of each rank, and their sizes
SCALE: Mapping[str, tuple[int, tuple[int, ...]]] = {
    "quick":   (4,   (32 * KiB, 1 * MiB)),
    "nightly": (32,  (1 * KiB, 32 * KiB, 1 * MiB, 4 * MiB)),
    "full":    (256, (1 * KiB, 1 * KiB + 8, 32 * KiB, 32 * KiB + 8, 1 * MiB, 1 * MiB + 8, 4 * MiB)),
}

#         name         api      pointer       coll
WAYS: tuple[tuple[str, Api, Pointer, bool], ...] = (
    ("independent", "mpiio", "explicit",   False),
    ("collective",  "mpiio", "explicit",   True),
    ("view",        "mpiio", "individual", False),
    ("view-coll",   "mpiio", "individual", True),
    ("posix",       "posix", "explicit",   False),
)
# fmt: on

CONCISE = (1 * MiB, "independent")
"""Size and way by which each kind is part of the set for an at-a-glance view (CONS-01)."""
PER_BLOCK = 2
"""Transfers of a client in one segment of a random pattern."""


@dataclass(frozen=True)
class Row:
    """A pattern of the suite, or the reason why it is impossible with what the user gave."""

    name: str
    pattern: Pattern | None
    given: Parameters
    """The parameters that the row uses, each with its origin (CONS-54)."""
    is_concise: bool = False
    problem: str = ""


def rows(profile: str, given: Parameters) -> list[Row]:
    """Every kind, size and way of a profile; a transfer size that the user gave takes the place of all sizes."""
    count, sizes = SCALE[profile]
    asked = given.whole("transfer_size") if given.is_given("transfer_size") else 0
    chosen = (asked,) if asked else sizes
    shown = CONCISE[0] if CONCISE[0] in chosen else chosen[-1]
    return [
        _row(kind, size, way, given.over(TABLE, _columns(kind, size, count, way)), is_shown=size == shown)
        for size in chosen
        for kind in COLUMNS
        for way in WAYS
    ]


def _columns(kind: Kind, size: int, count: int, way: tuple[str, Api, Pointer, bool]) -> dict[str, object]:
    return {**COLUMNS[kind](size, count), "collective": way[3]}


def _row(kind: Kind, size: int, way: tuple[str, Api, Pointer, bool], given: Parameters, *, is_shown: bool) -> Row:
    name = f"{kind}-{format_bytes(size).replace(' ', '')}-{way[0]}"
    used = given.only((*USED[kind], "collective", *(("direct",) if way[1] == "posix" else ())))
    pattern, problem = None, other_calls(given, coll=way[3])
    try:
        pattern = _pattern(name, LAYOUTS[kind](given), way)
    except ParameterError as error:
        problem = str(error)
    return Row(name, pattern, used, is_shown and way[0] == CONCISE[1], problem)


def other_calls(given: Parameters, *, coll: bool) -> str:
    """Why a row is left out where the user asked for the other kind of calls; empty where not."""
    if not given.is_given("collective") or bool(given["collective"]) == coll:
        return ""
    one = given.setting("collective")
    return f"collective = {one.value} (from {one.origin}) leaves out {'collective' if coll else 'independent'} calls"


def _pattern(name: str, layout: Layout, way: tuple[str, Api, Pointer, bool]) -> Pattern:
    _, api, pointer, coll = way
    # padding and what lies before the first segment are sized beforehand and must stay untouched (GEN-05, GEN-06)
    has_holes = not isinstance(layout, Segmented)
    return Pattern(name, layout, coll, pointer=pointer, api=api, access=("write", "read"), open=Open(presize=has_holes))


def _segmented(given: Parameters) -> Layout:
    block, transfer = block_and_transfer(given)
    header = given.whole("header_bytes")
    if header:
        # CONS-15: segmented is strided with one segment and no padding
        return Strided(block, transfer=transfer, start=header)
    return Segmented(block, (transfer,), count=block // transfer)


def _strided(given: Parameters) -> Layout:
    block, transfer = block_and_transfer(given)
    return Strided(
        block,
        ncalls=given.whole("segments"),
        pad=given.whole("padding"),
        start=given.whole("header_bytes"),
        transfer=transfer if transfer < block else 0,
    )


def _random(given: Parameters) -> Layout:
    with given.blamed({"lo": "min_transfer", "hi": "max_transfer"}):
        return RandomSizes(
            given.whole("min_transfer"),
            given.whole("max_transfer"),
            transfers=PER_BLOCK,
            strides=given.whole("segments"),
            seed=given.whole("seed"),
            start=given.whole("header_bytes"),
            pad=given.whole("padding"),
        )


def block_and_transfer(given: Parameters) -> tuple[int, int]:
    """Bytes of a block and of its transfers; a transfer of 0 is the whole block."""
    block = given.whole("block_size")
    transfer = given.whole("transfer_size") or block
    if block % transfer:
        # CONS-22
        allowed = f"a whole number of transfers of {transfer} B (transfer_size)"
        raise ParameterError("block_size", block, allowed, given.setting("block_size").origin)
    return block, transfer


def check_together(given: Parameters) -> None:
    """Refuse values that the user gave and that contradict each other; what a row cannot do is the row's to say."""
    if all(given.is_given(name) for name in ("block_size", "transfer_size")):
        block_and_transfer(given)
    if all(given.is_given(name) for name in ("min_transfer", "max_transfer")):
        with given.blamed({"lo": "min_transfer", "hi": "max_transfer"}):
            RandomSizes(given.whole("min_transfer"), given.whole("max_transfer"))


LAYOUTS: Mapping[Kind, Callable[[Parameters], Layout]] = {
    "segmented": _segmented,
    "strided": _strided,
    "random": _random,
    "general": _random,
}

# what the suite says for transfers of about `size` bytes, `count` of them on each rank
COLUMNS: Mapping[Kind, Callable[[int, int], Mapping[str, object]]] = {
    "segmented": lambda size, count: {"transfer_size": size, "block_size": size * count},
    "strided": lambda size, count: {
        "transfer_size": size,
        "block_size": size,
        "segments": count,
        "padding": size // 2,
    },
    "random": lambda size, count: _drawn(size, count) | {"seed": 1, "padding": 0},
    "general": lambda size, count: _drawn(size, count) | {"seed": 2, "padding": 333, "header_bytes": 777},
}


def _drawn(size: int, count: int) -> dict[str, object]:
    return {"min_transfer": 0, "max_transfer": 2 * size, "segments": count // PER_BLOCK}


_RANDOM = ("min_transfer", "max_transfer", "segments", "seed", "padding", "header_bytes")
USED: Mapping[Kind, tuple[str, ...]] = {
    "segmented": ("transfer_size", "block_size", "header_bytes"),
    "strided": ("transfer_size", "block_size", "segments", "padding", "header_bytes"),
    "random": _RANDOM,
    "general": _RANDOM,
}
