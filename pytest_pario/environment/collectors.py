"""All collectors, and the fingerprint they make together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from pytest_pario.environment import (
    beegfs,
    gluster,
    gpfs,
    local,
    lustre,
    machine,
    mount,
    nfs,
    orangefs,
    software,
)
from pytest_pario.environment.context import Context
from pytest_pario.environment.facts import KNOWN, SITE
from pytest_pario.environment.fingerprint import Fingerprint, Json, Told

Collector = Callable[[Context], dict[str, Told]]

COLLECTORS: Mapping[str, Collector] = {
    "mount": mount.collect,
    "lustre": lustre.collect,
    "gpfs": gpfs.collect,
    "beegfs": beegfs.collect,
    "gluster": gluster.collect,
    "nfs": nfs.collect,
    "orangefs": orangefs.collect,
    "local": local.collect,
    "software": software.collect,
    "machine": machine.collect,
}


def collect_all(
    directory: str | os.PathLike[str],
    hints: Mapping[str, str] | None = None,
    hostnames: Sequence[str] = (),
    extra: Mapping[str, Json | Told] | None = None,
) -> Fingerprint:
    """Fingerprint of a directory and this node; call it on one rank, outside of timed windows.

    `hints` are those in force of a file opened there, `hostnames` has one entry per rank, `extra` holds facts that only
    the caller knows: the machine's name, the load; a name that the table lacks becomes one of the site's own.
    """
    return collect_from(Context(directory, hints, hostnames), extra or {})


def collect_from(
    context: Context, extra: Mapping[str, Json | Told], collectors: Mapping[str, Collector] = COLLECTORS
) -> Fingerprint:
    """Ask every collector; one that breaks is recorded among the facts and stops nobody else."""
    told: dict[str, Told] = {}
    errors: list[Json] = []
    for name, collect in collectors.items():
        try:
            found = collect(context)
            Fingerprint(found)
            unknown = sorted(set(found) - set(KNOWN))
            if unknown:
                errors.append(f"{name}: not in the table of facts: {', '.join(unknown)}")
            told |= {key: answer for key, answer in found.items() if key in KNOWN}
        except Exception as error:
            errors.append(f"{name}: {type(error).__name__}: {error}")
    for key, value in extra.items():
        answer = value if isinstance(value, Told) else Told(value, "given")
        told[key if key in KNOWN or key.startswith(SITE) else SITE + key] = answer
    errors += context.complaints
    if errors:
        told["collector_errors"] = Told(errors, "collectors")
    return Fingerprint(told)
