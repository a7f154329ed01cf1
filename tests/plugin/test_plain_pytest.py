"""Plain pytest, without mpiexec, with and without an MPI library: nothing crashes, skips say why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_pario import mpi

pytest_plugins = ["pytester"]

SUITE = """
import pytest

def test_plain():
    pass

def test_takes_a_communicator(comm):
    comm.Barrier()

def test_measures(bandwidth):
    bandwidth(lambda: 1)

@pytest.mark.mpi
def test_marked():
    pass
"""

NO_MPI = "raise RuntimeError('cannot load MPI library')\n"


@pytest.fixture
def without_mpi(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment whose mpi4py finds no library, as after `pip install pytest-pario` alone."""
    fake = tmp_path_factory.mktemp("fake") / "mpi4py"
    fake.mkdir()
    (fake / "__init__.py").touch()
    (fake / "MPI.py").write_text(NO_MPI)
    return {**os.environ, "PYTHONPATH": str(fake.parent)}


def require_mpi() -> None:
    if mpi.unavailable_reason():
        pytest.skip(str(mpi.unavailable_reason()))


def run(directory: Path, *arguments: str, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def test_without_mpiexec_tests_are_skipped_with_the_cure(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    output = run(pytester.path)
    assert "1 passed, 3 skipped" in output
    assert "needs MPI: run as mpiexec -n N python -m pytest --with-mpi" in output
    assert not (pytester.path / ".pario").exists()


def test_without_a_library_tests_are_skipped_with_the_reason(
    pytester: pytest.Pytester, without_mpi: dict[str, str]
) -> None:
    pytester.makepyfile(SUITE)
    output = run(pytester.path, "--with-mpi", environment=without_mpi)
    assert "1 passed, 3 skipped" in output
    assert "mpi4py cannot load an MPI library: cannot load MPI library (install one with pip" in output


def test_without_a_library_and_without_asking_for_it(pytester: pytest.Pytester, without_mpi: dict[str, str]) -> None:
    pytester.makepyfile(SUITE)
    assert "1 passed, 3 skipped" in run(pytester.path, environment=without_mpi)


def test_the_plugin_can_be_left_out(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_plain(pytestconfig):\n    assert not hasattr(pytestconfig.option, 'pario_timeout')\n")
    output = run(pytester.path, "-p", "no:pario")
    assert "1 passed" in output
    assert "pario:" not in output


def test_a_folder_named_mpi_is_no_reason_to_skip(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("mpi")
    (folder / "test_x.py").write_text("def test_plain(): pass\n")
    assert "1 passed" in run(pytester.path)


def test_one_process_with_mpi_is_a_session_of_one(pytester: pytest.Pytester) -> None:
    require_mpi()
    pytester.makepyfile(SUITE)
    output = run(pytester.path, "--with-mpi")
    assert "4 passed" in output
    assert "pario: 1 rank on 1 host" in output


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("pario_ranks()", "one whole number"),
        ("pario_ranks(0)", "1 or more"),
        ("pario_timeout()", "pario_timeout() must be one number of seconds, 0 or more"),
        ("pario_timeout('5 min')", "pario_timeout('5 min') must be one number of seconds"),
        ("pario_timeout(-1)", "pario_timeout(-1) must be one number of seconds"),
        ("pario_timeout(60, weekly=1)", "pario_timeout(60, weekly=1) must be one number of seconds"),
    ],
)
def test_a_marker_with_a_bad_number_is_a_usage_error(pytester: pytest.Pytester, marker: str, message: str) -> None:
    require_mpi()
    pytester.makepyfile(f"import pytest\n@pytest.mark.{marker}\ndef test_x(comm): pass\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--with-mpi"],
        cwd=pytester.path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 4
    assert message in done.stdout + done.stderr


@pytest.mark.parametrize(
    "code",
    [
        "import pytest; pytest.main(['--version'])",
        "import pytest; pytest.main(['-VV'])",
        "import pytest; pytest.main(['--help'])",
        "import pytest; pytest.main(['--collect-only', '-q'])",
        "from pytest_pario.cli import build_parser; build_parser().format_help()",
    ],
)
def test_start_up_is_light(code: str, tmp_path: Path) -> None:
    check = "import sys; heavy = {'numpy', 'mpi4py'} & set(sys.modules); assert not heavy, heavy"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{check}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_help_of_the_command_needs_no_pytest(tmp_path: Path) -> None:
    code = "import sys; from pytest_pario.cli import build_parser; build_parser().format_help()"
    check = "assert 'pytest' not in sys.modules"
    subprocess.run([sys.executable, "-c", f"{code}; {check}"], cwd=tmp_path, check=True, timeout=240)


def test_nights_are_not_lost_without_a_word(tmp_path: Path) -> None:
    """A nightly job that lost its launcher must not look green."""
    (tmp_path / "test_it.py").write_text(SUITE)
    for option in ("--pario-save", "--pario-machine=box", "--pario-check"):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", option],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 4
        assert f"{option.partition('=')[0]}: without --with-mpi or a launcher nothing is measured" in done.stderr
    assert run(tmp_path, "--pario-save", "--collect-only")
