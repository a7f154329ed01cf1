"""Performance classes of the Consortium, mpi-tile-io, and the sweep over the number of clients.

Sustained read, sustained write and cached write (CONS-39..50): a result has the name of its class only if every rule
was seen to hold. Proposals: R. Ross, 2002-03-15 (CONS-75). mpi-tile-io: CONS-58..68.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_pario.fixtures.parameters import given_parameters
from pytest_pario.model import Access, Open, Pattern
from pytest_pario.patterns import Segmented, Strided, plan
from pytest_pario.session.keys import OPTIONS
from pytest_pario.units import MiB
from pytest_pario.workloads.consortium.class_rows import ClassRow, class_rows
from pytest_pario.workloads.consortium.classes import PHASES, Evidence, classify_record
from pytest_pario.workloads.consortium.direct import look_direct
from pytest_pario.workloads.consortium.tiles import FIELDS, tile_rates, tiles_of

if TYPE_CHECKING:
    from mpi4py import MPI

    from pytest_pario.fixtures.runner import Pario


pytestmark = pytest.mark.pario_timeout(nightly=1800, full=7200)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "row" in metafunc.fixturenames:
        chosen = class_rows(metafunc.config.stash[OPTIONS].profile, given_parameters(metafunc.config))
        metafunc.parametrize("row", [pytest.param(row, id=row.name, marks=marks_of(row)) for row in chosen])


def marks_of(row: ClassRow) -> list[pytest.MarkDecorator]:
    """The set that a row belongs to (CONS-01), and why it cannot be run."""
    found = [pytest.mark.concise if row.is_concise else pytest.mark.extended]
    return [*found, pytest.mark.skip(reason=row.problem)] if row.problem else found


@pytest.mark.pario_clients("profile")
def test_class(row: ClassRow, clients: int, pario: Pario, comm: MPI.Intracomm) -> None:
    assert row.pattern is not None
    pario.use(row.given)
    limits = pario.take("cache_bytes", "large_factor")
    record = pario.run(row.pattern, PHASES[row.asked], rounds=3, whole_buffer=True)
    assert record.n == clients
    cache = None if limits["cache_bytes"] is None else limits.whole("cache_bytes")
    device = pario.device_rate if record.phase == "read" else None
    evidence = Evidence(record, plan(row.pattern, comm.size), cache, limits.whole("large_factor"), device)
    classified = classify_record(row.asked, evidence)
    pario.note(label=classified.label, withheld=classified.reasons, flags=list(classified.flags), sweep=row.name)
    # the name may be withheld for what the place is, never for a rule that is ours to keep
    ours = [ruling for ruling in classified.rulings if ruling.is_ours]
    assert all(ruling.holds for ruling in ours), classified.reasons


@pytest.mark.extended
@pytest.mark.pario_clients("profile")
@pytest.mark.parametrize("phase", ["write", "read"])
def test_direct(phase: Access, clients: int, pario: Pario, scratch_dir: Path, comm: MPI.Intracomm) -> None:
    """POSIX past the page cache; where O_DIRECT does not work the test says so, and never falls back to buffers."""
    pattern = Pattern("direct-1MiB", Segmented(4 * MiB, (1 * MiB,), count=4), pointer="explicit", api="posix")
    given = pario.take(direct=True)
    if not given["direct"]:
        pytest.skip(f"direct = {given['direct']} (from {given.setting('direct').origin}) leaves O_DIRECT out")
    able = look_direct(comm, scratch_dir, pattern)
    if able.problem:
        pytest.skip(able.problem)
    record = pario.run(pattern, phase, rounds=3, direct=able.unit)
    assert record.samples.moved_bytes
    assert record.n == clients
    pario.note(sweep=f"direct-1MiB-{phase}")


@pytest.mark.pario_clients("profile")
@pytest.mark.parametrize("phase", ["write", "read"])
@pytest.mark.parametrize(
    "overlap", [pytest.param(0, marks=pytest.mark.concise), pytest.param(8, marks=pytest.mark.extended)]
)
def test_tile_io(overlap: int, phase: Access, clients: int, pario: Pario, comm: MPI.Intracomm) -> None:
    """mpi-tile-io: a row of tiles, or as many as parameters ask for; processes without one take no part (CONS-64)."""
    suite: dict[str, object] = {"nr_tiles_x": comm.size, "sz_tile_x": 256, "sz_tile_y": 256, "overlap_x": overlap}
    suite |= {"filename": f"tiles-overlap{overlap}", "write_file": phase == "write"}
    unset = [name for name in (*FIELDS.values(), "collective") if name not in suite]
    given = pario.take(*unset, **suite)
    asked = given.setting("write_file")
    if given.is_given("write_file") and bool(asked.value) != (phase == "write"):
        pytest.skip(f"write_file = {asked.value} (from {asked.origin}) asks for the other direction")
    tiles, together = tiles_of(given), bool(given["collective"])
    # CONS-63: collective calls on the communicator of the tiles, independent ones on a file that each opens by itself
    pattern = Pattern(given.text("filename"), tiles, together, open=Open(prefill=0xEE, alone=not together))
    record = pario.run(pattern, phase, rounds=3)
    tile_bytes = tiles.nx * tiles.ny * tiles.sx * tiles.sy * tiles.elem
    assert set(record.samples.moved_bytes) == {tile_bytes}  # CONS-62: overlap is counted each time
    pario.note(tile_mib_s=list(tile_rates(record.samples)), sweep=f"{pattern.name}-{phase}")
    assert record.n == tiles.nx * tiles.ny <= clients


@pytest.mark.extended
@pytest.mark.pario_clients("all")
@pytest.mark.parametrize("phase", ["write", "read"])
@pytest.mark.parametrize("kind", ["segmented", "strided", "segmented-posix"])
def test_clients(kind: str, phase: Access, clients: int, pario: Pario) -> None:
    """Rate against the number of clients (CONS-09, GEN-17); the table below the run has the efficiencies."""
    size, count, name = 1 * MiB, 4, f"clients-{kind}"
    layout = Strided(size, ncalls=count) if kind == "strided" else Segmented(size * count, (size,), count=count)
    # CONS-03: what is contiguous exists in both
    pattern = Pattern(name, layout, pointer="explicit", api="posix" if kind.endswith("posix") else "mpiio")
    record = pario.run(pattern, phase, rounds=3)
    assert record.n == clients
    pario.note(case=f"{name}-{phase}", clients=clients, sweep=f"{name}-{phase}")
