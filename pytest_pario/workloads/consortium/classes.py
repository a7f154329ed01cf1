"""The three performance classes: sustained read, sustained write, cached write (CONS-39..50). Pure.

Each rule is checked by code from what was done, not by trust (CONS-47). A class name is given only if every rule holds;
otherwise the number is a plain transfer rate, and the reasons are told. Proposal: R. Ross, 2002-03-15 (CONS-75).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_pario.environment.device_rate import DeviceRate
from pytest_pario.environment.local import MEMORY
from pytest_pario.measure.cache import RESIDENT_LIMIT
from pytest_pario.model import Access, Plan, Record
from pytest_pario.patterns.check import find_overlap
from pytest_pario.units import format_bytes

Class = Literal["sustained-read", "sustained-write", "cached-write"]

PHASES: Mapping[Class, Access] = {"sustained-read": "read", "sustained-write": "write", "cached-write": "write"}

LARGE_FACTOR = 20
"""How many times the cache a test must move to be large; b_eff_io's figure (OQ-4, BEFF-42)."""


@dataclass(frozen=True)
class Evidence:
    """What the rules are checked against."""

    record: Record
    plan: Plan
    cache_bytes: int | None
    """Size of the caches on the way, where it is known."""
    large_factor: int = LARGE_FACTOR
    device: DeviceRate | None = None
    """What the device can plausibly deliver, where somebody looked."""

    @property
    def memory(self) -> str:
        """Type of the filesystem where it lives in memory, else empty."""
        kind = str(self.record.fingerprint.get("filesystem_type", ""))
        return kind if kind in MEMORY else ""


@dataclass(frozen=True)
class Ruling:
    """Whether a rule holds, and why."""

    rule: str
    holds: bool
    why: str
    is_ours: bool = True
    """Whether it is the harness that keeps or breaks the rule, not the place where it runs."""


@dataclass(frozen=True)
class Classified:
    """A class name, or None where it is withheld (CONS-48)."""

    name: Class | None
    asked: Class
    rulings: tuple[Ruling, ...]
    flags: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What a report calls the number; never a class that was not earned (CONS-49)."""
        return self.name or "transfer rate"

    @property
    def reasons(self) -> list[str]:
        """Why the class name is withheld."""
        return [f"{ruling.rule}: {ruling.why}" for ruling in self.rulings if not ruling.holds]


def classify_record(asked: Class, evidence: Evidence) -> Classified:
    """Check every rule of a class (the table of CONS-39..46)."""
    rulings = tuple(check(evidence) for check in RULES[asked])
    flags = () if _is_large(evidence) else ("not_large",)
    return Classified(asked if all(ruling.holds for ruling in rulings) else None, asked, rulings, flags)


def _is_large(evidence: Evidence) -> bool:
    moved = min(evidence.record.samples.moved_bytes)
    return evidence.cache_bytes is not None and moved > evidence.large_factor * evidence.cache_bytes


def _moves_data(evidence: Evidence) -> Ruling:
    """CONS-39: how large is flagged apart, for the size of the caches is not always known (OQ-4)."""
    moved = min(evidence.record.samples.moved_bytes)
    if evidence.memory:
        return Ruling("CONS-39", False, f"{evidence.memory} is memory: there is no storage", is_ours=False)
    return Ruling("CONS-39", moved > 0, f"moves {format_bytes(moved)} a round")


def _times_open_and_close(evidence: Evidence) -> Ruling:
    acts = _acts(evidence)
    return Ruling("CONS-40", acts[:1] == ["open"] and acts[-1:] == ["close"], f"timed: {', '.join(acts) or 'unknown'}")


def _acts(evidence: Evidence) -> list[str]:
    """What was called inside the time, as the pass itself noted it."""
    acts = evidence.record.facts.get("acts")
    return [str(act) for act in acts] if isinstance(acts, (list, tuple)) else []


def _uses_buffer_once(evidence: Evidence) -> Ruling:
    again = evidence.record.facts.get("buffer_used_again")
    if not isinstance(again, int):
        return Ruling("CONS-41", False, "not known where in the buffer the data of the calls lay")
    why = "no byte of the buffer is used twice" if not again else f"{again} calls use bytes of the buffer again"
    return Ruling("CONS-41", again == 0, why)


def _starts_cold(evidence: Evidence) -> Ruling:
    holds, why = (_writes_cold if evidence.record.phase == "write" else _reads_cold)(evidence)
    return Ruling("CONS-42", holds, why, is_ours=False)


def _writes_cold(evidence: Evidence) -> tuple[bool, str]:
    if evidence.record.facts.get("allocation") == "new":
        return True, "the file is new: nothing of it can be cached"
    resident = evidence.record.facts.get("resident_before_write")
    limit = evidence.record.facts.get("resident_limit", RESIDENT_LIMIT)
    cold = isinstance(resident, float) and isinstance(limit, float) and resident <= limit
    return cold, f"resident before the write: {resident if resident is not None else 'unknown'}"


def _reads_cold(evidence: Evidence) -> tuple[bool, str]:
    """Residency 0 is necessary, not proof: a read that no device can deliver came from a cache that nobody saw."""
    cache = evidence.record.facts.get("cache")
    state = cache.get("state") if isinstance(cache, Mapping) else None
    why = str(cache.get("why")) if isinstance(cache, Mapping) else "nothing is known of the caches"
    device = str(evidence.device or "device rate not known")
    if "faster_than_device" in evidence.record.flags:
        return False, f"caches said to be {state}, but the read was faster than the device can be ({device})"
    return state == "cold", f"caches {state or 'unknown'}: {why}; {device}"


def _touches_once(rule: str) -> Callable[[Evidence], Ruling]:
    def check(evidence: Evidence) -> Ruling:
        overlap = find_overlap(evidence.plan.ranks)
        why = (
            "no byte of the file is accessed twice" if overlap is None else f"offset {overlap.offset} is accessed twice"
        )
        return Ruling(rule, overlap is None, why)

    return check


def _reaches_the_device(evidence: Evidence) -> Ruling:
    if evidence.memory:
        return Ruling("CONS-45", False, f"{evidence.memory} is memory: there is no device", is_ours=False)
    synced = _acts(evidence)[-2:] == ["sync", "close"]
    return Ruling("CONS-45", synced, "synced before close, inside the time" if synced else "no sync in the run")


_COMMON = (_moves_data, _times_open_and_close, _uses_buffer_once, _starts_cold)

RULES: Mapping[Class, tuple[Callable[[Evidence], Ruling], ...]] = {
    "sustained-read": (*_COMMON, _touches_once("CONS-43")),
    "sustained-write": (*_COMMON, _touches_once("CONS-44"), _reaches_the_device),
    "cached-write": (*_COMMON, _touches_once("CONS-44")),
}
