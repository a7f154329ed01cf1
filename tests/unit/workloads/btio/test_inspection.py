"""`pario btio verify`: a right file is accepted, and what is wrong with others is named."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from pytest_pario.cli import main
from pytest_pario.errors import ParameterError
from pytest_pario.workloads.btio.classes import COMPONENTS, find_class
from pytest_pario.workloads.btio.exact import Floats
from pytest_pario.workloads.btio.inspection import inspect_file
from pytest_pario.workloads.btio.solver import Solver

SMALL = find_class("S")
BESIDE = Path(__file__).parents[4].parent / "shared" / "data" / "btio.full.S.out"
REFERENCE = Path(os.environ.get("PARIO_BTIO_REFERENCE_FILE") or BESIDE)
"""Class S on 4 ranks, written by the NAS program; it is not shipped with the project."""


@pytest.fixture(scope="module")
def solution() -> Floats:
    """All fields of class S."""
    solver, fields = Solver(SMALL), np.empty((SMALL.fields, COMPONENTS * SMALL.size**3))
    solver.warm_up()
    for step in range(SMALL.steps):
        solver.step()
        if step % SMALL.interval == SMALL.interval - 1:
            solver.pack(fields[step // SMALL.interval])
    return fields


def verdict(path: Path, fields: Floats, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    path.write_bytes(fields.tobytes())
    status = main(["btio", "verify", str(path), "--class", "S"])
    return status, capsys.readouterr().out


def test_a_right_file(tmp_path: Path, solution: Floats, capsys: pytest.CaptureFixture[str]) -> None:
    status, told = verdict(tmp_path / "file", solution, capsys)
    assert status == 0, told
    assert told.endswith("\nverified\n")
    assert "class S, 12 fields" in told
    # the class follows from the size
    assert inspect_file(tmp_path / "file").verified
    # slab by slab or at once
    assert inspect_file(tmp_path / "file", SMALL, "numpy").verified


def flip(fields: Floats) -> Floats:
    fields.view(np.uint64)[4, 1000] ^= np.uint64(1 << 52)
    return fields


def nudge(fields: Floats) -> Floats:
    fields[5, 4321] *= 1 + 1e-8
    return fields


def turn_round(fields: Floats) -> Floats:
    return fields.byteswap()


def swap(fields: Floats) -> Floats:
    return fields[[0, 1, 3, 2, *range(4, 12)]]


def lose(fields: Floats) -> Floats:
    fields[6] = 0
    return fields


def repeat(fields: Floats) -> Floats:
    fields[7] = fields[6]
    return fields


def spoil(fields: Floats) -> Floats:
    fields[11, 3] = np.nan
    return fields


# fmt: off
HARM = [
    (flip,                    "NO  field 4: component 0 at point (8, 4, 1), offset 284480, deviates by"),
    (nudge,                   "NO  field 5: component 1 at point"),
    (turn_round,              "NO  the bytes of the numbers are in the other order (high byte first)"),
    (swap,                    "NO  field 3 is further from the exact solution than field 2: exchanged"),
    (lose,                    "NO  field 6 is missing: all its bytes are zero"),
    (repeat,                  "NO  field 7 holds the same bytes as field 6"),
    (spoil,                   "NO  field 11 holds numbers that are none"),
    (lambda it: it[:-1],      "NO  the file has 760320 bytes, class S has 829440: 11 whole fields in place of 12"),
    (lambda it: it.ravel()[:-1], "11 whole fields and 69112 bytes in place of 12"),
    (lambda it: it + 1e-6,    "NO  residual: largest relative deviation"),
]
# fmt: on


@pytest.mark.parametrize(("harm", "sentence"), HARM, ids=[sentence[4:30] for _, sentence in HARM])
def test_what_is_wrong_is_named(
    harm: object, sentence: str, tmp_path: Path, solution: Floats, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(harm)
    status, told = verdict(tmp_path / "file", harm(solution.copy()), capsys)
    assert status == 1
    assert sentence in told
    assert told.endswith("NOT verified\n")


def test_without_computing_anew_single_numbers_are_not_judged(
    tmp_path: Path, solution: Floats, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(nudge(solution.copy()).tobytes())
    assert main(["btio", "verify", str(tmp_path / "file"), "--no-solve"]) == 0
    assert "single numbers were not compared (--solve)" in capsys.readouterr().out


def test_files_that_cannot_be_of_any_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "short").write_bytes(b"x" * 100)
    with pytest.raises(ParameterError, match=r"no class has a file of 100 bytes \(S 829440"):
        inspect_file(tmp_path / "short")
    assert main(["btio", "verify", str(tmp_path / "none")]) == 2
    assert "must be a file that BTIO has written" in capsys.readouterr().err
    assert main(["btio", "verify", str(tmp_path / "short"), "--class", "Q"]) == 2


def test_no_mpi_is_needed(tmp_path: Path, solution: Floats) -> None:
    import subprocess

    (tmp_path / "file").write_bytes(solution.tobytes())
    code = f"""
import sys
from pytest_pario.cli import main
assert main(["btio", "verify", {str(tmp_path / "file")!r}]) == 0
assert "mpi4py.MPI" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240, stdout=subprocess.DEVNULL)


@pytest.mark.skipif(
    not REFERENCE.is_file(),
    reason=f"no file of the NAS program: neither PARIO_BTIO_REFERENCE_FILE nor ../shared/data/{BESIDE.name} is there",
)
def test_a_file_of_the_reference_program(solution: Floats, capsys: pytest.CaptureFixture[str]) -> None:
    found = inspect_file(REFERENCE, SMALL)
    assert found.verified, found
    theirs = np.fromfile(REFERENCE).reshape(solution.shape)
    np.testing.assert_allclose(solution, theirs, rtol=1e-11)
    assert main(["btio", "verify", str(REFERENCE), "--class", "S"]) == 0
    assert capsys.readouterr().out.endswith("\nverified\n")
