"""Two programs at once: each rate with and without the other."""

from __future__ import annotations

import json
from pathlib import Path

from tests.mpi.jobs import run_pytest

SUITE = Path(__file__).parents[2] / "suites" / "test_resonance.py"


def test_two_programs_on_disjoint_communicators(tmp_path: Path) -> None:  # RES-39
    given = ["--pario-dir", str(tmp_path), "--rootdir", str(tmp_path), "--benchmark-json=b.json", "-q"]
    job = run_pytest(4, str(SUITE), "-k", "interference", *given, directory=tmp_path)
    assert job.counts()["passed"] == 2, job.output
    for saved in json.loads((tmp_path / "b.json").read_text())["benchmarks"]:
        for one in saved["extra_info"]["interference"]:
            rates = [value for name, value in one.items() if name.endswith(("alone", "together"))]
            assert rates
