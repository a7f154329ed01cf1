"""From the values of pattern types to one number of a system, by both definitions. Pure (BEFF-35..40)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from pytest_pario.model import Access
from pytest_pario.workloads.beffio.table import TYPES

Definition = Literal["1.x", "2.0"]
DEFINITIONS: tuple[Definition, ...] = ("1.x", "2.0")
ACCESSES: tuple[Access, ...] = ("write", "rewrite", "read")

TypeValues = Mapping[tuple[Access, int], float]
"""MB/s (10^6 bytes) of each access method and type that is complete."""


@dataclass(frozen=True)
class Average:
    """A value, or what is missing for it; never a number made from a part."""

    value: float | None
    missing: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether everything that the value needs was measured."""
        return self.value is not None


def access_value(access: Access, types: TypeValues) -> Average:
    """Weighted mean over the types of one access method, scatter counting twice (BEFF-35)."""
    missing = _missing(types, [(access, kind) for kind in range(len(TYPES))])
    if missing:
        return Average(None, missing)
    # (2*b0 + b1 + b2 + b3 + b4) / 6
    return Average((2 * types[access, 0] + sum(types[access, kind] for kind in (1, 2, 3, 4))) / 6)


def write_value_2(types: TypeValues) -> Average:
    """The write part of release 2.0: five initial writes and the rewrite of type 0 (BEFF-37)."""
    wanted: list[tuple[Access, int]] = [("write", kind) for kind in range(len(TYPES))]
    wanted.append(("rewrite", 0))
    missing = _missing(types, wanted)
    # W = (w0 + w1 + w2 + w3 + w4 + rw0) / 6
    return Average(None, missing) if missing else Average(sum(types[key] for key in wanted) / 6)


def partition_value(definition: Definition, types: TypeValues) -> Average:
    """The value of one partition."""
    if definition == "2.0":
        parts = [write_value_2(types), access_value("read", types)]
    else:
        parts = [access_value(access, types) for access in ACCESSES]
    values = [part.value for part in parts if part.value is not None]
    if len(values) < len(parts):
        return Average(None, _merge(part.missing for part in parts))
    if definition == "2.0":
        # sqrt(W * R)
        return Average(sqrt(values[0] * values[1]))
    # 0.25*write + 0.25*rewrite + 0.5*read
    return Average(0.25 * values[0] + 0.25 * values[1] + 0.5 * values[2])


@dataclass(frozen=True)
class SystemValue:
    """The largest partition value, and where it was reached (BEFF-38)."""

    value: float | None
    partition: int | None
    missing: tuple[str, ...] = ()


def system_value(partitions: Mapping[int, Average]) -> SystemValue:
    """The maximum over all partitions; without one of them it is incomplete."""
    missing = _merge([f"n={n}: {what}" for what in one.missing] for n, one in sorted(partitions.items()))
    if missing or not partitions:
        return SystemValue(None, None, missing or ("every partition",))
    value, n = max((one.value or 0.0, n) for n, one in partitions.items())
    return SystemValue(value, n)


def weighted_by_units(rates: Iterable[tuple[int, float]]) -> float | None:
    """Mean of pattern rates weighted by their units of time, for information only (BEFF-39)."""
    pairs = [(units, rate) for units, rate in rates if units]
    total = sum(units for units, _ in pairs)
    return sum(units * rate for units, rate in pairs) / total if total else None


def _missing(types: TypeValues, wanted: Sequence[tuple[Access, int]]) -> tuple[str, ...]:
    return tuple(f"{access} {TYPES[kind]}" for access, kind in wanted if (access, kind) not in types)


def _merge(parts: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for part in parts for text in part))
