"""Interactive use, small files and MPI-IO metadata: from the Parallel I/O Benchmarking Consortium (CONS-69..74)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_pario import mpi
from pytest_pario.fixtures.communicators import session_of
from pytest_pario.fixtures.parameters import given_parameters
from pytest_pario.patterns import Files
from pytest_pario.session.keys import OPTIONS
from pytest_pario.units import GiB, KiB, MiB, format_bytes
from pytest_pario.workloads.consortium.interactive import measure_operation
from pytest_pario.workloads.consortium.metadata import Metadata
from pytest_pario.workloads.consortium.smallfiles import SmallFiles
from pytest_pario.workloads.consortium.table import TABLE
from pytest_pario.workloads.consortium.tools import OPERATIONS, TOOLS, find_tool, missing_tool
from pytest_pario.workloads.consortium.tree import Tree
from pytest_pario.workloads.parameters import Parameters

if TYPE_CHECKING:
    from mpi4py import MPI

    from pytest_pario.fixtures.operations import Operations

pytestmark = pytest.mark.pario_timeout(600)

# How much each profile does; a parameter on the command line or in the environment counts before it (CONS-54).
# fmt: off
#            files    large_size    repetitions    files_per_client    metadata_files
PROFILES = {
    "quick":   (60,   8 * MiB,      3,             60,                 6),
    "nightly": (500,  256 * MiB,    5,             500,                32),
    "full":    (5000, 2 * GiB,      10,            5000,               200),
}
SCALED = ("files", "large_size", "repetitions", "files_per_client", "metadata_files")

#    file_size, transfer_size (0: in one call), directory
CONCISE = [
    (4 * KiB,   0,         "shared"),
]
EXTENDED = [
    (4 * KiB,   0,         "own"),
    (0,         0,         "shared"),
    (64 * KiB,  16 * KiB,  "own"),
]
# fmt: on
SMALL_FILES = [
    *(pytest.param(row, marks=pytest.mark.concise, id="-".join(map(str, row))) for row in CONCISE),
    *(pytest.param(row, marks=pytest.mark.extended, id="-".join(map(str, row))) for row in EXTENDED),
]


@pytest.fixture
def parameters(request: pytest.FixtureRequest) -> Parameters:
    """Parameters of a test: what the user gave (CONS-53), else the values of the profile and of the row (CONS-54)."""
    options = request.config.stash[OPTIONS]
    suite: dict[str, object] = dict(zip(SCALED, PROFILES[options.profile], strict=True))
    row = getattr(request.node, "callspec").params.get("row", ())  # noqa: B009 - not in pytest's types
    suite |= dict(zip(("file_size", "transfer_size", "directory"), row, strict=False))
    return given_parameters(request.config).over(TABLE, suite)


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Seed of the data, the same for the whole run (GEN-10)."""
    return session_of(request.config).seed


@pytest.mark.pario_clients
@pytest.mark.parametrize("phase", ["create", "read", "stat", "unlink"])
@pytest.mark.parametrize("row", SMALL_FILES)
def test_small_files(
    comm: MPI.Intracomm,
    operations: Operations,
    scratch_dir: Path,
    parameters: Parameters,
    *,
    seed: int,
    row: tuple[int, int, str],
    phase: str,
    clients: int,
) -> None:
    count, size, transfer = (parameters.whole(name) for name in ("files_per_client", "file_size", "transfer_size"))
    own = parameters.text("directory") == "own"
    files = SmallFiles(comm, scratch_dir, Files(count, size, transfer, own_directory=own), seed)
    result = files.measure(phase, rounds=parameters.whole("repetitions"))
    case = f"small files of {format_bytes(size)}, {'own' if own else 'shared'} folder, {phase}"
    used = parameters.only(("files_per_client", "file_size", "transfer_size", "directory", "repetitions"))
    operations(result, case=case, files=count * clients, parameters=used.plain())
    assert result.rounds[-1].operations == count * clients


@pytest.mark.pario_clients
@pytest.mark.parametrize("operation", ["create", "open", "resize", "delete"])
@pytest.mark.parametrize(
    "mode",
    [pytest.param("collective", marks=pytest.mark.concise), pytest.param("independent", marks=pytest.mark.extended)],
)
def test_metadata(
    comm: MPI.Intracomm,
    operations: Operations,
    scratch_dir: Path,
    parameters: Parameters,
    *,
    seed: int,
    mode: str,
    operation: str,
    clients: int,
) -> None:
    count = parameters.whole("metadata_files")
    together = mode == "collective"
    files = Metadata(comm, scratch_dir, count, collective=together, seed=seed, hints=parameters.hints)
    result = files.measure(operation, rounds=parameters.whole("repetitions"))
    used = parameters.only(("metadata_files", "repetitions")).plain() | parameters.only_hints.plain()
    operations(result, case=f"MPI-IO {operation}, {mode}", files=count, together=together, parameters=used)
    assert result.rounds[-1].operations == (count if together else count * clients)


@pytest.mark.pario_clients("ends")
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.concise
def test_interactive(
    comm: MPI.Intracomm,
    operations: Operations,
    scratch_dir: Path,
    parameters: Parameters,
    *,
    seed: int,
    operation: str,
    clients: int,
) -> None:
    tool = find_tool(operation, chosen_program(operation, parameters.text("tool")))
    if reason := mpi.on_root(comm, lambda: missing_tool(tool)):
        pytest.skip(reason)
    files, size, depth, large = (parameters.whole(name) for name in ("files", "size", "depth", "large_size"))
    tree = Tree(files, size, depth, large, seed)
    result = measure_operation(comm, scratch_dir, tool, tree, parameters.whole("repetitions"))
    used = parameters.only(("files", "size", "depth", "large_size", "repetitions", "tool"))
    operations(result, case=f"{tool.program}: {operation}", files=tree.files, parameters=used.plain())
    assert result.samples.ranks == clients


def chosen_program(operation: str, asked: str) -> str:
    """The program that the user asked for where it can do the operation, else the default one."""
    return asked if any(row.operation == operation and row.program == asked for row in TOOLS) else "default"
