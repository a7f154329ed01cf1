from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_pario.bench.bare_c import build_bare_loop
from pytest_pario.bench.ior import MORE_PASSES, ior_cpu_ns
from pytest_pario.bench.loop import Findings, parse_size, run_loop_bench, table
from pytest_pario.errors import ParameterError, SessionError
from pytest_pario.session.launcher import Launcher

KEY = (2, "/scratch/x", 1024, "write_at")


@pytest.mark.parametrize(
    ("text", "size"),
    [("1024", 1024), ("1k", 1024), ("32KiB", 32768), ("4M", 4 << 20), ("512B", 512), ("64MiB", 64 << 20)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "k", "3x", "1.5k", "65M", "1G", "1kk"])
def test_sizes_that_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="--sizes"):
        parse_size(text)


def test_ratios_are_those_of_neighbours_in_time() -> None:
    """A machine that slows down in the middle changes the medians, not the ratio."""
    findings = Findings(
        "Some MPI", cells={KEY: {"compiled": [100, 400, 410], "python": [200, 800, 820], "C": [110, 440, 451]}}
    )
    row = table(findings, {"/scratch/x": "/scratch (ext4)"}, "cc", with_ior=False)[-1]
    assert row.split() == ["2", "/scratch", "(ext4)", "1", "KiB", "write_at", "400", "800", "440", "1.10", "0.55"]


def test_an_empty_column_has_its_reason() -> None:
    findings = Findings("Some MPI", {"compiled": "numba is missing"}, {KEY: {"python": [200.0], "IOR": [100.0]}})
    *_, row, note = table(findings, {"/scratch/x": "/scratch (ext4)"}, "cc", with_ior=True)
    assert row.split()[6:] == ["-", "200", "-", "100", "-", "-", "-", "0.50"]
    assert note == "no compiled: numba is missing"


def test_what_the_command_line_gets_wrong(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="--ior"):
        run_loop_bench([1], [str(tmp_path)], [], str(tmp_path / "ior"), None)
    with pytest.raises(ParameterError, match="--dir"):
        run_loop_bench([1], [str(tmp_path / "missing")], [], None, None)
    with pytest.raises(ParameterError, match="--ranks"):
        run_loop_bench([0], [str(tmp_path)], [], None, None)
    assert list(tmp_path.iterdir()) == []


def test_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    library, reason = build_bare_loop(tmp_path)
    assert library is None
    assert "no C compiler" in reason


def fake_ior(directory: Path, body: str) -> str:
    program = directory / "ior"
    program.write_text(f"#!{sys.executable}\nimport sys, time\n{body}\n")
    program.chmod(0o755)
    return str(program)


def test_start_up_is_not_counted(tmp_path: Path) -> None:
    """30 ms of CPU time for each pass on top of 200 ms for the start."""
    body = """
passes = int(sys.argv[sys.argv.index("-i") + 1])
while time.process_time() < 0.2 + 0.03 * passes: pass
"""
    spent = ior_cpu_ns(Launcher(()), fake_ior(tmp_path, body), tmp_path / "f", size=1024, block=4096, call="write_at")
    assert MORE_PASSES > 1
    assert 0.015e9 < spent < 0.06e9


def test_an_ior_that_fails(tmp_path: Path) -> None:
    program = fake_ior(tmp_path, "sys.exit('no such option')")
    with pytest.raises(SessionError, match="no such option"):
        ior_cpu_ns(Launcher(()), program, tmp_path / "f", size=1024, block=4096, call="read_at")


@pytest.mark.slow
def test_the_whole_command_leaves_nothing_behind(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    if not (Path(sys.executable).parent / "mpiexec").exists():
        pytest.skip("no MPI library in this environment")
    command = [
        sys.executable,
        "-m",
        "pytest_pario.cli",
        "bench",
        "loop",
        "--sizes",
        "1MiB",
        "--ranks",
        "1",
        "--dir",
        ".",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=200, env=dict(os.environ), check=False
    )
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if "1 MiB" in line]
    assert [row.split()[5] for row in rows] == ["write_at", "read_at"]
    assert list(tmp_path.iterdir()) == []
