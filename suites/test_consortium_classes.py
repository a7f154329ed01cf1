"""Performance classes of the Consortium, mpi-tile-io, and the sweep over the number of clients.

Sustained read, sustained write and cached write (CONS-39..50): a result has the name of its class only if every rule
was seen to hold. Proposals: R. Ross, 2002-03-15 (CONS-75). mpi-tile-io: CONS-58..68.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_pario import mpi
from pytest_pario.environment.direct_io import DirectIO, direct_io
from pytest_pario.model import Access, Open, Pattern, SyncRule
from pytest_pario.patterns import Segmented, Strided, Tiles, plan
from pytest_pario.units import KiB, MiB, format_bytes
from pytest_pario.workloads.consortium.classes import PHASES, Class, Evidence, classify_record

if TYPE_CHECKING:
    from mpi4py import MPI

    from pytest_pario.fixtures.runner import Pario

# fmt: off
#            bytes of each rank
VOLUME = {"quick": 8 * MiB, "nightly": 256 * MiB, "full": 4096 * MiB}

#      transfer   coll   marker
SIZES = [
    (1 * MiB,  False, pytest.mark.concise),
    (1 * MiB,  True,  pytest.mark.extended),
    (32 * KiB, False, pytest.mark.extended),   # CONS-50: small accesses, the size in the label
]
# fmt: on
ROWS = [
    pytest.param(size, coll, marks=marker, id=f"{format_bytes(size).replace(' ', '')}-{'coll' if coll else 'ind'}")
    for size, coll, marker in SIZES
]


# CONS-46: new files, or preallocated space, in sustained writes
KINDS = [
    ("sustained-write", "new"),
    ("sustained-write", "preallocated"),
    ("cached-write", "new"),
    ("sustained-read", "new"),
]


@pytest.mark.parametrize(("size", "coll"), ROWS)
@pytest.mark.parametrize(("asked", "allocation"), KINDS)
def test_class(  # noqa: PLR0917 - as many as the test has sides
    asked: Class, size: int, coll: bool, allocation: str, pario: Pario, comm: MPI.Intracomm
) -> None:
    sync: SyncRule = "none" if asked == "cached-write" else "end"
    count = VOLUME[pario.profile] // size
    pattern = Pattern(
        f"{asked}-{format_bytes(size).replace(' ', '')}-{'coll' if coll else 'ind'}-{allocation}",
        Segmented(size * count, (size,), count=count),
        coll,
        pointer="explicit",
        sync=sync,
        open=Open(prealloc=allocation == "preallocated"),
    )
    record = pario.run(pattern, PHASES[asked], rounds=3, whole_buffer=True)
    given = pario.parameters
    cache = None if given["cache_bytes"] is None else given.whole("cache_bytes")
    evidence = Evidence(record, plan(pattern, comm.size), cache, given.whole("large_factor"))
    classified = classify_record(asked, evidence)
    pario.note(label=classified.label, withheld=classified.reasons, flags=list(classified.flags))
    # the name may be withheld where caches cannot be shown to be cold, never for a rule that is ours to keep
    ours = [ruling for ruling in classified.rulings if ruling.rule != "CONS-42"]
    assert all(ruling.holds for ruling in ours), classified.reasons


@pytest.mark.extended
@pytest.mark.parametrize("phase", ["write", "read"])
def test_direct(phase: Access, pario: Pario, scratch_dir: Path, comm: MPI.Intracomm) -> None:
    """POSIX past the page cache; where O_DIRECT does not work the test says so, and never falls back to buffers."""

    def look() -> DirectIO:
        probe = scratch_dir / "probe"
        probe.write_bytes(bytes(1 * MiB))
        return direct_io(str(probe))

    able = mpi.on_root(comm, look)
    if not able.works:
        pytest.skip(f"O_DIRECT does not work in this directory ({able.source})")
    unit = max(able.memory_align, able.offset_align)
    layout = Segmented(4 * MiB, (1 * MiB,), count=4)
    pattern = Pattern("direct-1MiB", layout, pointer="explicit", api="posix")
    record = pario.run(pattern, phase, rounds=3, direct=unit)
    assert record.samples.moved_bytes


@pytest.mark.concise
@pytest.mark.parametrize("phase", ["write", "read"])
@pytest.mark.parametrize("overlap", [0, 8])
def test_tile_io(overlap: int, phase: Access, pario: Pario, comm: MPI.Intracomm) -> None:
    """mpi-tile-io: a row of tiles, or as many as parameters ask for; more processes than tiles sit still (CONS-64)."""
    given = pario.parameters
    tiles = Tiles(
        nx=given.whole("nr_tiles_x") if given.setting("nr_tiles_x").origin != "default" else comm.size,
        ny=given.whole("nr_tiles_y"),
        sx=given.whole("sz_tile_x") if given.setting("sz_tile_x").origin != "default" else 256,
        sy=given.whole("sz_tile_y") if given.setting("sz_tile_y").origin != "default" else 256,
        elem=given.whole("sz_element"),
        ox=given.whole("overlap_x") if given.setting("overlap_x").origin != "default" else overlap,
        oy=given.whole("overlap_y"),
        header=given.whole("header_bytes"),
    )
    asked = given.setting("write_file")
    if asked.origin != "default" and bool(asked.value) != (phase == "write"):
        pytest.skip(f"write_file = {asked.value} ({asked.origin}) asks for the other direction")
    name = f"tiles-overlap{overlap}" if given["filename"] is None else Path(given.text("filename")).name
    pattern = Pattern(name, tiles, bool(given["collective"]), open=Open(prefill=0xEE))
    record = pario.run(pattern, phase, rounds=3)
    tile_bytes = tiles.nx * tiles.ny * tiles.sx * tiles.sy * tiles.elem
    assert set(record.samples.moved_bytes) == {tile_bytes}  # CONS-62: overlap is counted each time


@pytest.mark.concise
@pytest.mark.pario_clients("all")
@pytest.mark.parametrize("phase", ["write", "read"])
@pytest.mark.parametrize("kind", ["segmented", "strided"])
def test_clients(kind: str, phase: Access, clients: int, pario: Pario) -> None:
    """Rate against the number of clients (CONS-09, GEN-17); the table below the run has the efficiencies."""
    size, count = 1 * MiB, 4
    layout = Segmented(size * count, (size,), count=count) if kind == "segmented" else Strided(size, ncalls=count)
    pattern = dataclasses.replace(Pattern(f"clients-{kind}", layout), pointer="explicit")
    record = pario.run(pattern, phase, rounds=3)
    assert record.n == clients
    pario.note(case=f"clients-{kind}-{phase}", clients=clients)
