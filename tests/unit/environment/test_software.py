from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_pario.environment.software import collect, describe_io
from tests.unit.environment.answers import Answers

OPEN_MPI = "Open MPI v5.0.11, package: Open MPI user@localhost Distribution, ident: 5.0.11"
OLD_OPEN_MPI = "Open MPI v4.1.6, package: Open MPI"
INFO = {"ompi_info --parsable": "ompi_info"}


@pytest.mark.parametrize(
    ("directory", "hints", "environment", "library", "expected"),
    [
        ("/tmp", {"romio_filesystem_type": "UFS: Generic ROMIO driver"}, {}, "MPICH Version: 5.0.2", ("ROMIO", "UFS")),
        ("/scratch", {"romio_filesystem_type": "LUSTRE:"}, {}, "", ("ROMIO", "LUSTRE")),
        ("/tmp", {"romio_cb_read": "automatic"}, {}, "Intel(R) MPI Library 2021.9", ("ROMIO", None)),
        ("/tmp", {}, {}, "MPICH Version: 5.0.2", (None, None)),
        ("/tmp", {}, {}, OPEN_MPI, ("OMPIO", "ufs")),
        ("/scratch", {}, {}, OPEN_MPI, ("OMPIO", "lustre")),
        ("/scratch", {}, {"OMPI_MCA_io": "romio341"}, OPEN_MPI, ("ROMIO", None)),
        ("/tmp", {}, {"OMPI_MCA_io": "^ompio"}, OPEN_MPI, (None, None)),
        # its ompi_info is that of another installation
        ("/tmp", {}, {}, OLD_OPEN_MPI, ("OMPIO", None)),
        ("/scratch", {}, {}, OLD_OPEN_MPI, (None, None)),
        ("/scratch", {}, {"OMPI_MCA_io": "ompio"}, OLD_OPEN_MPI, ("OMPIO", None)),
        ("/tmp", {}, {}, "", (None, None)),
    ],
)
def test_library_and_driver(
    directory: str,
    hints: dict[str, str],
    environment: dict[str, str],
    library: str,
    expected: tuple[str | None, str | None],
) -> None:
    context = Answers(directory, hints=hints, environment=environment, tools=INFO)
    told = {name: answer.value for name, answer in describe_io(context, library).items()}
    assert (told.get("io_library"), told.get("io_driver")) == expected


def test_versions_and_settings() -> None:
    environment = {"ROMIO_HINTS": "/etc/romio", "OMPI_MCA_io": "ompio", "HOME": "/home/ada"}
    files = {"/etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'}
    told = collect(Answers("/tmp", environment=environment, files=files))
    assert told["os"].value == "Debian GNU/Linux 12 (bookworm)"
    assert told["kernel"].value == platform.release()
    assert told["io_environment"].value == {"OMPI_MCA_io": "ompio", "ROMIO_HINTS": "/etc/romio"}
    assert {"python", "numpy", "pytest", "pytest_benchmark", "pytest_pario"} <= set(told)


def test_mpi_is_asked_only_where_it_runs(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from pytest_pario.environment.collectors import collect_all\n"
        f"before = collect_all({str(tmp_path)!r})\n"
        "assert 'mpi4py.MPI' not in sys.modules and 'mpi_library' not in before, before\n"
        "from pytest_pario import mpi\n"
        "assert mpi.unavailable_reason() is None, 'skip'\n"
        f"told = collect_all({str(tmp_path)!r})\n"
        "print(told['mpi_library'], told['wtime_is_global'])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=False)
    if "AssertionError: skip" in done.stderr:
        pytest.skip("no MPI library here")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] in ("True", "False")
