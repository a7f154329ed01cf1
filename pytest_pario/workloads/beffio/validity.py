"""Whether a value may stand beside published ones: each criterion reached, not reached or unknown. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_pario.units import MB, format_bytes
from pytest_pario.workloads.beffio.averages import ACCESSES, partition_value
from pytest_pario.workloads.beffio.results import Results
from pytest_pario.workloads.beffio.schedule import types_of
from pytest_pario.workloads.beffio.settings import Settings

Reached = Literal["reached", "not reached", "unknown"]

PARTITION_SECONDS_1 = 15 * 60
TOTAL_SECONDS_2 = 1800
CACHE_FACTOR = 20
FILE_SECONDS = 300
"""15 min / 3: the initial write of so long gives the least size of the files (BEFF-43)."""


@dataclass(frozen=True)
class Criterion:
    """One rule of BEFF-41..43 and how the run stands to it."""

    name: str
    reached: Reached
    told: str


def criteria(settings: Settings, results: Results, errors: int) -> tuple[Criterion, ...]:
    """All criteria of a run."""
    return (
        _complete(settings, results),
        _time(settings),
        _unlimited(results),
        Criterion("shared pointers", _reached(not settings.noshared), "used" if not settings.noshared else "noshared"),
        Criterion("errors", _reached(errors == 0), f"{errors}"),
        _cache(settings, results),
        _file_size(settings, results),
    )


def is_valid(found: tuple[Criterion, ...]) -> bool:
    """Valid for comparison: every criterion but the file size, which is reported only, is reached (BEFF-41)."""
    return all(one.reached == "reached" for one in found if one.name != "file size")


def _reached(holds: bool) -> Reached:
    return "reached" if holds else "not reached"


def _complete(settings: Settings, results: Results) -> Criterion:
    """Every partition has its value."""
    types = {n: partition_value(settings.definition, results.type_values(n)) for n in settings.partitions}
    without = [f"n={n}" for n, one in types.items() if one.value is None]
    return Criterion(
        "complete", _reached(not without), f"without {', '.join(without)}" if without else "all partitions"
    )


def _unlimited(results: Results) -> Criterion:
    """No pattern was cut short by a limit in bytes, no segment by a limit in size: the scheduled time was used."""
    cut = [one for one in results.patterns if {"byte_limited", "segment_capped"} & set(one.flags)]
    return Criterion("no limit", _reached(not cut), f"{len(cut)} patterns cut short" if cut else "none")


def _time(settings: Settings) -> Criterion:
    if settings.definition == "1.x":
        told = f"{settings.partition_s:g} s per partition, {PARTITION_SECONDS_1} s wanted"
        return Criterion("time", _reached(settings.partition_s >= PARTITION_SECONDS_1), told)
    # OQ-2: the total time counts
    told = f"T = {settings.total_s:g} s, {TOTAL_SECONDS_2} s wanted"
    return Criterion("time", _reached(settings.total_s >= TOTAL_SECONDS_2), told)


def _cache(settings: Settings, results: Results) -> Criterion:
    # bytes of each access method > 20 * cache: then at least 95 % went to disk (BEFF-42)
    if settings.fs_cache_bytes is None:
        return Criterion("cache rule", "unknown", "size of the filesystem's cache not given (beff_fs_cache)")
    wanted = CACHE_FACTOR * settings.fs_cache_bytes
    run = [access for access in ACCESSES if any(one.access == access for one in results.patterns)]
    # of each partition, since the best of them is the result
    moved = {a: min(results.moved_bytes(n, a) for n in settings.partitions) for a in run}
    # with the rewrite of type 0 only, that method is no benchmark of its own
    counted = [a for a in run if len(types_of(a, settings.definition, settings.rewrite)) > 1]
    least = min((moved[access] for access in counted), default=0)
    told = f"least {format_bytes(least)} per partition and access method, more than {format_bytes(wanted)} wanted"
    return Criterion("cache rule", _reached(least > wanted), told)


def _file_size(settings: Settings, results: Results) -> Criterion:
    # least file size = rate of the initial write * 300 s (BEFF-43)
    written = [one for one in results.patterns if one.access == "write"]
    seconds = sum(one.elapsed_s for one in written)
    if not seconds:
        return Criterion("file size", "unknown", "nothing was written")
    moved = sum(one.moved_bytes for one in written)
    rate = moved / seconds
    told = f"{format_bytes(moved)} at {rate / MB:.1f} MB/s, {format_bytes(int(rate * FILE_SECONDS))} wanted"
    return Criterion("file size", _reached(moved >= rate * FILE_SECONDS), told)
