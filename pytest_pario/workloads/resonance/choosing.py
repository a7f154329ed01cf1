"""Which strategies a suite compares, and what striping the resonant one is planned for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_pario import mpi
from pytest_pario.errors import StripeUnknownError
from pytest_pario.schemes.settings import StrategySettings, with_hints
from pytest_pario.schemes.shipping import ships
from pytest_pario.units import KiB
from pytest_pario.workloads.delegation import find_striping

if TYPE_CHECKING:
    from mpi4py import MPI

PUBLISHED_UNIT, PUBLISHED_NODES = 64 * KiB, 4
"""The striping of the study (RES-01)."""


def carried_out_by(strategy: str, hints: Mapping[str, str]) -> str:
    """The strategy that really carries out the calls: a hint turns data shipping into independent calls (GPFS-38)."""
    off = strategy == "data_shipping" and not ships(hints.get("IBM_largeblock_io"))
    return "independent" if off else strategy


def resonant_strategy(comm: MPI.Intracomm, directory: Path, hints: Mapping[str, str]) -> tuple[str, str]:
    """The resonant strategy for a directory, and where its striping comes from.

    Where neither hints nor filesystem tell one, the suite names that of the study as its own parameter: the plan is
    then correct and comparable, and nothing is claimed about the filesystem. What the user gave of it stays.
    """

    def look() -> tuple[StrategySettings, str]:
        given = with_hints(StrategySettings("resonant"), hints)
        try:
            found = find_striping(directory, given, hints)
        except StripeUnknownError as error:
            own = dataclasses.replace(given, unit=given.unit or PUBLISHED_UNIT, nodes=given.nodes or PUBLISHED_NODES)
            kept = [f"parameter {name}" for name, value in (("striping_unit", given.unit),
                                                            ("striping_factor", given.nodes)) if value]  # fmt: skip
            return own, ", ".join([*kept, f"the suite's own ({error})"])
        return dataclasses.replace(given, unit=found.unit, nodes=found.factor), found.source

    settings, source = mpi.on_root(comm, look)
    return f"resonant:unit={settings.unit},nodes={settings.nodes}", source
