"""Stripe unit and factor: given, or told by the filesystem; never guessed (RES-02, ERR-11)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_pario.environment import beegfs, gpfs, lustre, orangefs
from pytest_pario.environment.context import Context
from pytest_pario.environment.fingerprint import Told
from pytest_pario.environment.mount import type_of
from pytest_pario.errors import ParameterError, StripeUnknownError

QUERIES: Mapping[str, Callable[[Context], dict[str, Told]]] = {
    "lustre": lustre.collect,
    "gpfs": gpfs.collect,
    "beegfs": beegfs.collect,
    "fhgfs": beegfs.collect,
    "pvfs2": orangefs.collect,
    "orangefs": orangefs.collect,
    "fuse.pvfs2fuse": orangefs.collect,
}
"""Filesystems that can be asked, by their type."""

WANTED: Mapping[str, str] = {"stripe_unit_bytes": "striping_unit", "stripe_factor": "striping_factor"}
"""The two facts, and the parameters that stand for them."""

DRIVERS: Mapping[str, tuple[str, ...]] = {
    "lustre": ("LUSTRE", "CRAY ADIO"),
    "pvfs2": ("PVFS2",),
    "orangefs": ("PVFS2",),
}
"""Drivers of MPI-IO that put the striping of the file into its hints; all others echo what the user asked for."""

ECHOED = frozenset({"striping_factor", "start_iodevice"})
"""Hints that only such a driver obeys. ROMIO reads `striping_unit` on any filesystem: two-phase aligns its domains."""


@dataclass(frozen=True)
class Striping:
    """Round-robin striping: byte x is on I/O node (x // unit) % factor (RES-01)."""

    unit: int
    """Contiguous bytes on one I/O node."""
    factor: int
    """Number of I/O nodes."""
    source: str
    """Who told it."""

    def __post_init__(self) -> None:
        for name, value in (("striping_unit", self.unit), ("striping_factor", self.factor)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ParameterError(name, value, "a whole number of 1 or more", self.source)


def striping(
    directory: str | os.PathLike[str],
    unit: int | None = None,
    factor: int | None = None,
    hints: Mapping[str, str] | None = None,
    context: Context | None = None,
) -> Striping:
    """Striping of a file, or of the new files of a directory.

    Parameters come first, then what the filesystem tells, then hints in force of a driver that fills them in.
    """
    found: dict[str, Told] = {}
    told: dict[str, Told] = {}
    context = context or Context(directory, hints)
    kind = type_of(context) or "unknown"
    if unit is None or factor is None:
        told = QUERIES[kind](context) if kind in QUERIES else {}
        found = {name: told[name] for name in WANTED if name in told}
        if len(found) < len(WANTED):
            found |= _by_hints(context.hints, kind)
    for (name, parameter), value in zip(WANTED.items(), (unit, factor), strict=True):
        if value is not None:
            found[name] = Told(value, f"parameter {parameter}")
    if len(found) < len(WANTED):
        raise StripeUnknownError(_why(context.directory, kind, told, found))
    sources = ", ".join(dict.fromkeys(found[name].source for name in WANTED))
    size, count = (found[name].value for name in WANTED)
    return Striping(size, count, sources)  # type: ignore[arg-type]  # checked when built


def driver_of(hints: Mapping[str, str]) -> str:
    """The driver that the hints in force name, such as UFS; empty where they name none."""
    return hints.get("romio_filesystem_type", "").partition(":")[0].strip()


def echoed_hints(requested: Mapping[str, str], in_force: Mapping[str, str]) -> tuple[str, ...]:
    """What is said to be in force as asked for although nothing obeys it here: an echo is no evidence (ENV-21)."""
    if any(driver_of(in_force) in drivers for drivers in DRIVERS.values()):
        return ()
    return tuple(sorted(ECHOED & requested.keys() & in_force.keys()))


def hints_tell(directory: str | os.PathLike[str]) -> bool:
    """Whether hints in force may tell the striping there: the filesystem has a driver that fills them in."""
    return type_of(Context(directory)) in DRIVERS


def _by_hints(hints: Mapping[str, str], kind: str) -> dict[str, Told]:
    driver = driver_of(hints)
    size, count = hints.get("striping_unit", ""), hints.get("striping_factor", "")
    if driver not in DRIVERS.get(kind, ()) or not all(text.isdigit() and int(text) > 0 for text in (size, count)):
        return {}
    source = f"hints of {driver}"
    return {"stripe_unit_bytes": Told(int(size), source), "stripe_factor": Told(int(count), source)}


def _why(directory: str, kind: str, told: Mapping[str, Told], found: Mapping[str, Told]) -> str:
    wanted = " and ".join(parameter for name, parameter in WANTED.items() if name not in found)
    components = told["stripe_components"].value if "stripe_components" in told else None
    if isinstance(components, list):
        fact = f"the layout is composite, in {len(components)} parts with a striping of their own"
    elif kind not in QUERIES:
        fact = "a filesystem of this type has no round-robin striping to ask for"
    elif "stripe_pattern" in told:
        fact = f"its pattern is {told['stripe_pattern'].value}"
    else:
        fact = "its tools did not tell"
    return f"{directory} ({kind}): {fact}; give {wanted}"
