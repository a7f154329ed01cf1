"""Which strategy a row is run with, and with what striping: settled on root before any I/O, the same on all ranks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_pario import mpi
from pytest_pario.access.info import hints_in_force
from pytest_pario.environment.stripe import Striping, hints_tell, striping
from pytest_pario.errors import StripeUnknownError
from pytest_pario.model import Pattern
from pytest_pario.schemes.settings import StrategySettings, parse_strategy, with_hints
from pytest_pario.schemes.shipping import ships

if TYPE_CHECKING:
    from mpi4py import MPI


def settle(
    comm: MPI.Intracomm, pattern: Pattern, wanted: str | None, hints: Mapping[str, str], directory: Path
) -> StrategySettings | None:
    """The row's strategy, else the one wanted for all; None for POSIX rows and where neither says anything.

    A striping that is not given comes from the hints asked for, then from the filesystem, then from the hints in force
    where its driver fills them in; it is never guessed (RES-02).
    """
    text = pattern.strategy or wanted
    if text is None or pattern.api == "posix":
        return None
    settings = with_hints(parse_strategy(text), hints)
    if settings.name == "data_shipping" and not ships(hints.get("IBM_largeblock_io")):
        # GPFS-38: tasks access directly, and collective calls behave as independent ones
        return StrategySettings("independent")
    if settings.name != "resonant" or (settings.unit is not None and settings.nodes is not None):
        return settings
    found = mpi.on_root(comm, lambda: find_striping(directory, settings, hints))
    return dataclasses.replace(settings, unit=found.unit, nodes=found.factor)


def find_striping(directory: Path, settings: StrategySettings, hints: Mapping[str, str]) -> Striping:
    """What was given of it, then what the filesystem's tools tell, then the hints in force; for one rank."""
    try:
        return striping(directory, settings.unit, settings.nodes)
    except StripeUnknownError:
        if not hints_tell(directory):
            raise
    # the filesystem's own tools did not tell
    return striping(directory, settings.unit, settings.nodes, hints_in_force(directory, hints))
