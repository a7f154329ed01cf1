"""mpi-tile-io: its parameters as a layout, and its bandwidth (CONS-58..68). Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_pario.model import Samples
from pytest_pario.patterns import Tiles
from pytest_pario.units import mib_per_s
from pytest_pario.workloads.parameters import Parameters

FIELDS: Mapping[str, str] = {
    "nx": "nr_tiles_x",
    "ny": "nr_tiles_y",
    "sx": "sz_tile_x",
    "sy": "sz_tile_y",
    "elem": "sz_element",
    "ox": "overlap_x",
    "oy": "overlap_y",
    "header": "header_bytes",
}
"""Field of the layout, and the parameter that it is made of."""


def tiles_of(given: Parameters) -> Tiles:
    """The tiles that parameters ask for; an impossible value is told by its own name and origin."""
    with given.blamed(FIELDS):
        return Tiles(**{field: given.whole(name) for field, name in FIELDS.items()})


def tile_rates(samples: Samples) -> tuple[float, ...]:
    """MiB/s of each repetition by the largest time of reading, or of writing and its sync, on one process (CONS-66)."""
    times = [io.max_s + sync.max_s for io, sync in zip(samples.io, samples.sync, strict=True)]
    return tuple(mib_per_s(moved, seconds) for moved, seconds in zip(samples.moved_bytes, times, strict=True))
