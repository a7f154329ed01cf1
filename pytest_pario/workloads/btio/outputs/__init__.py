"""How fields get into files: one subtype each, found by its name."""

from __future__ import annotations

from pytest_pario.errors import ParameterError
from pytest_pario.workloads.btio.outputs.epio import Epio
from pytest_pario.workloads.btio.outputs.fortran import Fortran
from pytest_pario.workloads.btio.outputs.full import Full
from pytest_pario.workloads.btio.outputs.protocol import FRONT, Output, Site
from pytest_pario.workloads.btio.outputs.simple import Simple

__all__ = ["FRONT", "NO_OUTPUT", "SUBTYPES", "Output", "Site", "find_subtype"]

SUBTYPES: dict[str, type[Output]] = {kind.name: kind for kind in (Full, Simple, Fortran, Epio)}
NO_OUTPUT = "none"


def find_subtype(name: str) -> type[Output] | None:
    """A subtype by name; None for `none`, and a miss lists what there is."""
    if name not in (NO_OUTPUT, *SUBTYPES):
        raise ParameterError("subtype", name, f"one of {', '.join((NO_OUTPUT, *SUBTYPES))}")
    return SUBTYPES.get(name)
