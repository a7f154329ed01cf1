"""Which strategies a suite compares, and what striping the resonant one is planned for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_pario import mpi
from pytest_pario.environment.stripe import striping
from pytest_pario.errors import StripeUnknownError
from pytest_pario.units import KiB

if TYPE_CHECKING:
    from mpi4py import MPI

PUBLISHED_UNIT, PUBLISHED_NODES = 64 * KiB, 4
"""The striping of the study (RES-01)."""


def resonant_strategy(comm: MPI.Intracomm, directory: Path, hints: Mapping[str, str]) -> tuple[str, str]:
    """The resonant strategy for a directory, and where its striping comes from.

    Where neither hints nor filesystem tell one, the suite names that of the study as its own parameter: the plan is
    then correct and comparable, and nothing is claimed about the filesystem.
    """

    def look() -> tuple[str, str]:
        given = {key: int(text) for key, text in hints.items() if key.startswith("striping_") and text.isdigit()}
        try:
            found = striping(directory, given.get("striping_unit"), given.get("striping_factor"))
        except StripeUnknownError as error:
            return f"resonant:unit={PUBLISHED_UNIT},nodes={PUBLISHED_NODES}", f"the suite's own ({error})"
        return f"resonant:unit={found.unit},nodes={found.factor}", found.source

    return mpi.on_root(comm, look)
