"""Hints that suites know by name, values that must never reach a library, and what became of a request. Pure.

The names are those of the Consortium's proposal on parameters and hints (R. Ross, 15 March 2002; CONS-56, CONS-75).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_pario.errors import HintValueError
from pytest_pario.model import Hints, Pattern

HINT_KEYS = (
    "cb_nodes",
    "cb_config_list",
    "cb_buffer_size",
    "romio_cb_read",
    "romio_cb_write",
    "romio_no_indep_rw",
    "ind_rd_buffer_size",
    "ind_wr_buffer_size",
    "ind_write_buffer_size",
    "romio_ds_read",
    "romio_ds_write",
    "striping_factor",
    "striping_unit",
    "start_iodevice",
    "pfs_svr_buf",
    "direct_read",
    "direct_write",
    "IBM_largeblock_io",
    "IBM_io_buffer_size",
    "IBM_sparse_access",
)
"""Keys as libraries spell them; a parameter has the same name but for case (CONS-56)."""

ALSO_SENT = {"ind_write_buffer_size": "ind_wr_buffer_size"}
"""The proposal's name, and the key that ROMIO reads (CONS-56)."""

POSITIVE_KEYS = frozenset(
    {"cb_buffer_size", "cb_nodes", "ind_rd_buffer_size", "ind_wr_buffer_size", "ind_write_buffer_size"}
)
"""0 and less crash MPICH or stall it (GEN-13)."""

NATURAL_KEYS = frozenset({"striping_factor", "striping_unit"})
"""Less than 0 is taken as it is (GEN-13)."""

LARGEST = 2**31 - 1
"""ROMIO reads these numbers into an int: a larger one wraps, and a buffer of 0 or of less ends the job (GEN-13)."""

HintState = Literal["accepted", "changed", "dropped", "defaulted"]


@dataclass(frozen=True)
class HintOutcome:
    """What became of one hint (GEN-12)."""

    key: str
    state: HintState
    """Accepted: in force as asked for. Changed: in force with another value. Dropped: not in force.
    Defaulted: in force, and nobody asked for it."""
    requested: str | None
    in_force: str | None


def check_hint(key: str, value: str, origin: str = "suite table") -> None:
    """Refuse a value that would crash or stall the library (GEN-13); what is unknown passes."""
    key = key.lower()
    least = 1 if key in POSITIVE_KEYS else 0 if key in NATURAL_KEYS else None
    if least is None:
        return
    if not re.fullmatch(r"\s*[+-]?\d+\s*", value) or not least <= int(value) <= LARGEST:
        allowed = f"a whole number, {least} or more and at most {LARGEST}"
        raise HintValueError(f"hint {key} = {value!r} (from {origin}): must be {allowed}")


def check_hints(hints: Mapping[str, str], origin: str = "suite table") -> None:
    """Refuse the first value that would crash or stall the library."""
    for key, value in hints.items():
        check_hint(key, value, origin)


def classify_hints(requested: Mapping[str, str], in_force: Mapping[str, str]) -> tuple[HintOutcome, ...]:
    """Compare what was asked for with what `Get_info` tells, requested ones first (GEN-12, CONS-57)."""
    asked = [
        HintOutcome(key, _state(value, in_force.get(key)), value, in_force.get(key)) for key, value in requested.items()
    ]
    others = [HintOutcome(key, "defaulted", None, value) for key, value in in_force.items() if key not in requested]
    return (*asked, *others)


def group_hints(outcomes: tuple[HintOutcome, ...]) -> dict[str, dict[str, str]]:
    """State → key → value, for a result record: the value in force, or that which was asked for and dropped."""
    grouped: dict[str, dict[str, str]] = {}
    for one in outcomes:
        grouped.setdefault(one.state, {})[one.key] = one.requested or "" if one.in_force is None else one.in_force
    return grouped


def relieve(pattern: Pattern, hints: Mapping[str, str]) -> Pattern:
    """The pattern without those of its own hints that somebody else asks for: theirs are to be in force."""
    kept = {key: value for key, value in pattern.hints.on_open.items() if key not in hints}
    return dataclasses.replace(pattern, hints=Hints(kept, pattern.hints.per_chunk))


def _state(requested: str, in_force: str | None) -> HintState:
    if in_force is None:
        return "dropped"
    return "accepted" if _comparable(requested) == _comparable(in_force) else "changed"


def _comparable(value: str) -> str | int:
    """Numbers by value: libraries write them without leading zeros and blanks."""
    text = value.strip()
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else text
