"""Two programs at once: each rate with and without the other."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

from pytest_pario.environment.context import Context
from pytest_pario.environment.mount import type_of
from pytest_pario.workloads.resonance.interference import PASSES
from tests.mpi.jobs import run_pytest

SUITE = Path(__file__).parents[2] / "suites" / "test_resonance.py"


def test_two_programs_on_disjoint_communicators(tmp_path: Path) -> None:  # RES-39
    given = ["--pario-dir", str(tmp_path), "--rootdir", str(tmp_path), "--benchmark-json=b.json", "-q"]
    job = run_pytest(4, str(SUITE), "-k", "interference", *given, directory=tmp_path)
    assert job.counts()["passed"] == 3, job.output
    saved = json.loads((tmp_path / "b.json").read_text())["benchmarks"]
    assert {one["params"]["strategy"] for one in saved} == {"native", "two_phase", "resonant"}
    kind = type_of(Context(tmp_path))
    for one in (found for test in saved for found in test["extra_info"]["interference"]):
        for program in ("alone", "together", "other_alone", "other_together"):
            assert len(one[program]) == PASSES
            assert min(one[program]) > 0
        # RES-29, RES-38: where nothing can be emptied the numbers say so
        assert kind != "tmpfs" or one["cache"]["state"] == "cached"
        assert any(line.endswith(f"  {one['cache']['state']}") for line in job.output.splitlines())
        assert f"{fmean(one['together']) / fmean(one['alone']):.2f}" in job.output  # the table tells this very ratio
