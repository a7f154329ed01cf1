"""Whether a value may stand beside published ones: each criterion reached, not reached or unknown. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_pario.units import MB, format_bytes
from pytest_pario.workloads.beffio.averages import ACCESSES
from pytest_pario.workloads.beffio.results import Results
from pytest_pario.workloads.beffio.schedule import types_of, wanted_seconds
from pytest_pario.workloads.beffio.settings import Settings
from pytest_pario.workloads.beffio.values import system_of

Reached = Literal["reached", "not reached", "unknown"]

CACHE_FACTOR = 20
SHOWN = 3
WARM = "caches_"
"""Begins the flag of a pattern before which caches were not shown to be empty; their state follows."""
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
        _standard(settings),
        Criterion("shared pointers", _reached(not settings.noshared), "used" if not settings.noshared else "noshared"),
        Criterion("errors", _reached(errors == 0), f"{errors}"),
        _cache(settings, results),
        _caches(settings, results),
        _file_size(settings, results),
    )


def is_valid(found: tuple[Criterion, ...]) -> bool:
    """Valid for comparison: every criterion but the file size, which is reported only, is reached (BEFF-41)."""
    return all(one.reached == "reached" for one in found if one.name != "file size")


def _reached(holds: bool) -> Reached:
    return "reached" if holds else "not reached"


def _complete(settings: Settings, results: Results) -> Criterion:
    """Every partition has its value."""
    missing = system_of(results, settings.definition, settings.partitions).missing
    told = "without " + ", ".join(missing[:SHOWN]) + (" …" if len(missing) > SHOWN else "")
    told = told if missing else "all partitions"
    return Criterion("complete", _reached(not missing), told)


def _unlimited(results: Results) -> Criterion:
    """No pattern was cut short by a limit in bytes, no segment by a limit in size: the scheduled time was used."""
    cut = [one for one in results.patterns if {"byte_limited", "segment_capped"} & set(one.flags)]
    return Criterion("no limit", _reached(not cut), f"{len(cut)} patterns cut short" if cut else "none")


def _standard(settings: Settings) -> Criterion:
    """Nobody asked for other patterns than those of the benchmark."""
    told = ", ".join(settings.deviations)
    return Criterion("standard", _reached(not told), told or "MPART by memory, segments of whole MiB")


def _time(settings: Settings) -> Criterion:
    wanted = wanted_seconds(settings.definition, settings.rewrite)
    of = " per partition" if settings.definition == "1.x" else ""
    told = f"T = {settings.total_s:g} s{of}, {wanted:g} s wanted"
    return Criterion("time", _reached(settings.total_s >= wanted), told)


def _cache(settings: Settings, results: Results) -> Criterion:
    # bytes of each access method > 20 * cache: then at least 95 % went to disk (BEFF-42)
    if settings.fs_cache_bytes is None:
        return Criterion("cache rule", "unknown", "size of the filesystem's cache not given (beff_fs_cache)")
    wanted = CACHE_FACTOR * settings.fs_cache_bytes
    # what enters the value counts: of rewrites those that the definition needs; all partitions, as the best is taken
    kinds = {access: types_of(access, settings.definition, "type0") for access in ACCESSES}
    moved = {(results.moved_bytes(n, a, kinds[a]), a, n) for n in settings.partitions for a in ACCESSES}
    least, access, n = min(moved)
    told = f"least {format_bytes(least)} ({access}, n={n}), more than {format_bytes(wanted)} wanted"
    return Criterion("cache rule", _reached(least > wanted), told)


def _caches(settings: Settings, results: Results) -> Criterion:
    """What was rewritten and read was no longer in a cache; where that cannot be seen it is as the cache rule says."""
    otherwise = _cache(settings, results).reached
    if not settings.flush:
        return Criterion("caches", otherwise, "left as they were (beff_flush=no): the cache rule decides")
    flags = [flag for one in results.patterns for flag in one.flags if flag.startswith(WARM)]
    warm, unseen = flags.count(f"{WARM}cached"), flags.count(f"{WARM}unknown")
    if warm:
        return Criterion("caches", "not reached", f"{warm} patterns found their file in a cache")
    if unseen:
        return Criterion("caches", otherwise, f"not seen before {unseen} patterns: the cache rule decides")
    if flags:
        return Criterion("caches", otherwise, "no page on clients; servers not flushed: the cache rule decides")
    return Criterion("caches", "reached", "empty before rewrite and read")


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
