"""What the tests of patterns are given when they are collected."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_pario.fixtures.beffio import STATE, State, pytest_generate_tests
from pytest_pario.session.keys import OPTIONS
from pytest_pario.workloads.beffio.schedule import pattern_limit_s
from tests.unit.workloads.beffio.test_results import settings


@pytest.mark.parametrize(
    ("partition_s", "otherwise_s", "limit_s"),
    [(600.0, 300.0, 6000.0), (0.2, 300.0, 300.0), (600.0, 7200.0, 7200.0), (600.0, 0.0, 0.0)],
)
def test_a_pattern_may_take_longer_than_its_schedule(partition_s: float, otherwise_s: float, limit_s: float) -> None:
    # BEFF-28: nothing but the loop of the initial write ends by time
    assert pattern_limit_s(partition_s, otherwise_s) == limit_s


def test_every_pattern_has_its_limit_and_ranks() -> None:  # BEFF-28, GEN-09
    given: list[Any] = []
    stash: dict[Any, Any] = {STATE: State(settings(), None), OPTIONS: SimpleNamespace(timeout_s=300.0)}
    metafunc: Any = SimpleNamespace(
        config=SimpleNamespace(stash=stash),
        fixturenames=["beff_step", "beffio"],
        parametrize=lambda name, rows: given.extend([(name, row) for row in rows]),
    )
    pytest_generate_tests(metafunc)
    assert len(given) == 43 + 9 + 43
    for name, row in given:
        assert name == "beff_step"
        assert {mark.name: mark.args for mark in row.marks} == {"pario_ranks": (2,), "pario_timeout": (18000.0,)}
