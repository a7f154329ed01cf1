"""The suite as a table: what each profile runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_pario.errors import ParameterError, SpaceError
from pytest_pario.workloads.btio import run as running
from pytest_pario.workloads.btio.classes import CLASSES, find_class
from pytest_pario.workloads.btio.outputs import NO_OUTPUT, SUBTYPES
from pytest_pario.workloads.btio.record import pattern_of
from pytest_pario.workloads.btio.run import Run
from suites import test_btio as suite

ALL = {NO_OUTPUT, *SUBTYPES}


def subtypes(profile: str, name: str, mode: str) -> set[str]:
    return {subtype for one, how, subtype, _ in suite.rows(profile) if (one, how) == (name, mode)}


def test_what_the_profiles_run() -> None:
    assert subtypes("quick", "S", "solved") == ALL
    assert subtypes("quick", "A", "replay") == set(SUBTYPES)
    assert set(suite.rows("quick")) < set(suite.rows("nightly")) < set(suite.rows("full"))
    for name, mode in (("W", "solved"), ("A", "solved"), ("B", "replay"), ("C", "replay")):
        assert subtypes("nightly", name, mode) == (ALL if mode == "solved" else set(SUBTYPES))
    for name in CLASSES:
        assert subtypes("full", name, "solved") == ALL
        assert subtypes("full", name, "replay") == set(SUBTYPES)


@pytest.mark.parametrize("subtype", SUBTYPES)
def test_records_of_the_two_modes_are_never_taken_for_each_other(subtype: str) -> None:
    patterns = [pattern_of(Run(find_class("S"), subtype, mode)) for mode in ("solved", "replay")]
    assert len({pattern.name for pattern in patterns}) == len({pattern.id for pattern in patterns}) == 2


def test_what_does_not_fit_into_the_memory_of_a_node_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # GEN-16
    monkeypatch.setattr(running, "memory_available", lambda context: 4 << 30)
    with pytest.raises(SpaceError, match=r"needs 32.* GiB of memory for 16 ranks on a node, 4 GiB are free there"):
        running.require_room(Run(find_class("D"), "none"), 16, tmp_path, on_node=16)
    running.require_room(Run(find_class("A"), "none"), 16, tmp_path, on_node=16)


def test_what_would_not_end_in_time_is_skipped_with_an_estimate() -> None:
    from pytest_pario.fixtures.btio import _check_time

    told = r"btio-D-full-solved needs about \d+ s of computing on 9 ranks with the numpy engine, .* 7200 s .*or numba"
    with pytest.raises(pytest.skip.Exception, match=told):
        _check_time(Run(find_class("D"), "full"), "numpy", 9, 7200.0)
    _check_time(Run(find_class("D"), "full"), "numpy", 16, 7200.0)
    _check_time(Run(find_class("D"), "full"), "compiled", 9, 7200.0)
    _check_time(Run(find_class("F"), "full", "replay"), "numpy", 1, 1.0)


@pytest.mark.parametrize(("phase", "subtype"), [("raed", "full"), ("read", "none"), ("rewrite", "full")])
def test_a_phase_that_is_none_is_refused(phase: str, subtype: str) -> None:
    from pytest_pario.fixtures.btio import _check_phase

    with pytest.raises(ParameterError, match=f"phase = '{phase}'"):
        _check_phase(phase, subtype)


def test_needed_memory_is_an_upper_bound() -> None:
    from pytest_pario.workloads.btio.solver import Solver

    problem = find_class("W")
    for engine in ("auto", "numpy"):
        solver = Solver(problem, None, engine)
        solver.warm_up()
        assert Run(problem, "none").needed_memory(1) >= solver.memory_bytes + problem.field_bytes
    assert Run(problem, "full", "replay").needed_memory(4) == problem.field_bytes // 4
