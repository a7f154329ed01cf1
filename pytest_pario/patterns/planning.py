"""From a pattern to a plan: extents of every rank, chains of patterns, and the views that tell MPI the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, overload

import numpy as np

from pytest_pario.errors import ParameterError
from pytest_pario.model import Extents, Fixed, Pattern, Plan
from pytest_pario.patterns.protocol import LARGEST, Layout
from pytest_pario.patterns.recipe import Contiguous, View, Views

KEPT_BYTES = 64 << 20
"""Extent tables up to this much are kept once made; larger plans make the table of a rank again when asked."""


def plan(pattern: Pattern, n: int, repetitions: int | None = None, base: int = 0, first: int = 0) -> Plan:
    """The plan of a pattern on `n` ranks, from `base` on; `first` skips repetitions that were done before."""
    if pattern.ranks not in (None, n):
        raise ParameterError(f"{pattern.name}: n", n, f"{pattern.ranks}, the ranks of the row")
    if repetitions is None:
        repetitions = pattern.repeat.count if isinstance(pattern.repeat, Fixed) else 1
    if repetitions < 0 or base < 0 or first < 0:
        raise ParameterError(f"{pattern.name}: plan", (repetitions, base, first), "0 or more each")
    step, limit = period(pattern, n), _placed(pattern, n).limit(n)
    reach = base + (first + repetitions) * step
    if limit is not None and reach > limit:
        raise ParameterError(f"{pattern.name}: repetitions", repetitions, f"so many that {reach} B fit into {limit} B")
    if reach > LARGEST:
        raise ParameterError(
            f"{pattern.name}: repetitions", repetitions, f"so many that offsets stay below {LARGEST} B"
        )
    base += first * step
    return Plan(pattern, n, repetitions, base, _Tables(pattern, n, repetitions, base))


def team(pattern: Pattern, n: int) -> int:
    """How many of `n` ranks take part in a pattern, from rank 0 on; the others are not to be measured (CONS-64)."""
    return n if pattern.files == "each" else cast(Layout, pattern.layout).team(n)


def period(pattern: Pattern, n: int) -> int:
    """Bytes by which one repetition moves on."""
    return _placed(pattern, n).period(_place(pattern, 0, n)[1])


def chain(patterns: Sequence[Pattern], n: int, repetitions: Sequence[int]) -> tuple[Plan, ...]:
    """The plans of patterns in one file, each beginning where the one before ended (MODEL-04)."""
    plans: list[Plan] = []
    base, before = 0, None
    for pattern, count in zip(patterns, repetitions, strict=True):
        if pattern.after != before:
            raise ParameterError(f"{pattern.name}: after", pattern.after, f"{before!r}, the row before it in the chain")
        plans.append(plan(pattern, n, count, base))
        # D_p = sum of R_q * period_q over the earlier patterns q
        base += count * period(pattern, n)
        before = pattern.name
    return tuple(plans)


def views(plan: Plan, rank: int) -> Views:
    """The views under which the calls of `rank` are made, in order; built without the extent table.

    Each is built when it is asked for, be it the only one: where a row says so this is timed (GPFS-14, GPFS-24).
    """
    layout = _placed(plan.pattern, plan.n)
    place = _place(plan.pattern, rank, plan.n)
    unit, base, again = layout.recipe(*place), plan.base, plan.repetitions
    if plan.pattern.pointer == "shared":
        # ENV-04: a shared pointer needs the same view on all ranks
        unit = (View(layout.recipe(0, place[1])[0].displacement, Contiguous(1), unit[0].calls),)
    calls, own = (unit.calls, unit.etype) if isinstance(unit, Views) else ([view.calls for view in unit], unit[0].etype)
    etype = own if own > 1 else plan.pattern.etype
    if len(calls) == 1:
        return Views([calls[0] * again], lambda number: _moved(unit[number], base, again, etype), etype)
    step, count = layout.period(place[1]), len(calls)
    return Views(
        list(calls) * again,
        lambda number: _moved(unit[number % count], base + number // count * step, 1, etype),
        etype,
    )


def _moved(view: View, by: int, repetitions: int, etype: int) -> View:
    # plain bytes become plain elementary types: MPI refuses a filetype that is no multiple of them
    filetype = Contiguous(etype) if view.filetype == Contiguous(1) else view.filetype
    return View(view.displacement + by, filetype, view.calls * repetitions, etype)


def _placed(pattern: Pattern, n: int) -> Layout:
    return cast(Layout, pattern.placed(n))


def _place(pattern: Pattern, rank: int, n: int) -> tuple[int, int]:
    """A rank with a file of its own is alone in it."""
    return (0, 1) if pattern.files == "each" else (rank, n)


def repeat(unit: Extents, step: int, count: int) -> Extents:
    """The extents of `count` repetitions, each `step` bytes further on."""
    if count == 1:
        return unit
    starts = np.arange(count, dtype=np.int64) * step
    bounds = np.arange(count)[:, None] * len(unit.offsets) + unit.bounds[1:]
    return Extents(
        (starts[:, None] + unit.offsets).ravel(),
        np.tile(unit.lengths, count),
        np.concatenate(([0], bounds.ravel())),
    )


class _Tables(Sequence[Extents]):
    """The extent tables of all ranks, made when asked for; small ones are kept."""

    def __init__(self, pattern: Pattern, n: int, repetitions: int, base: int) -> None:
        self._pattern, self._n, self._repetitions, self._base = pattern, n, repetitions, base
        self._kept: dict[int, Extents] = {}
        self._kept_bytes = 0

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, index: int) -> Extents: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Extents]: ...
    def __getitem__(self, index: int | slice) -> Extents | Sequence[Extents]:
        if isinstance(index, slice):
            return [self[rank] for rank in range(*index.indices(self._n))]
        rank = range(self._n)[index]
        if rank in self._kept:
            return self._kept[rank]
        table = self._make(rank)
        cost = 16 * len(table.offsets) + 8 * len(table.bounds)
        if self._kept_bytes + cost <= KEPT_BYTES:
            self._kept[rank] = table
            self._kept_bytes += cost
        return table

    def _make(self, rank: int) -> Extents:
        pattern = self._pattern
        layout, place = _placed(pattern, self._n), _place(pattern, rank, self._n)
        table = repeat(layout.calls(*place), layout.period(place[1]), self._repetitions).shifted(self._base)
        for parameter, unit, sizes in (
            ("etype", pattern.etype, table.lengths),
            ("mem.piece", pattern.mem.piece, table.call_bytes),
        ):
            if unit > 1 and (sizes % unit).any():
                odd = int(sizes[(sizes % unit) > 0][0])
                raise ParameterError(f"{pattern.name}: {parameter}", unit, f"a divisor of every size; {odd} B is none")
        return table
