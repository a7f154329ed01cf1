from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.options import Options
from pytest_pario.session.limits import START_S, phase_limit_s, start_limit_s, within_start_limit


def test_the_limit_of_the_start_comes_from_the_environment() -> None:
    assert start_limit_s({}) == START_S
    assert start_limit_s({"PARIO_START_TIMEOUT": "2.5"}) == 2.5


@pytest.mark.parametrize("text", ["2min", "0", "-1", "nan", "inf"])
def test_a_bad_limit_names_variable_value_range_and_origin(text: str) -> None:
    with pytest.raises(
        ParameterError, match=rf"PARIO_START_TIMEOUT = '{text}' \(from environment\): must be a positive"
    ):
        start_limit_s({"PARIO_START_TIMEOUT": text})


def test_what_comes_out_in_time_is_returned() -> None:
    assert within_start_limit(1, 600.0, lambda: "started") == "started"


def test_a_start_that_holds_the_interpreter_lock_is_ended() -> None:
    code = (
        "import ctypes; from pytest_pario.session.limits import within_start_limit\n"
        "within_start_limit(3, 0.2, lambda: ctypes.PyDLL(None).sleep(100))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "pario: rank 3: MPI has not started within 0.2 s (PARIO_START_TIMEOUT)" in done.stderr


class Item:
    """The face of a test that has a marker, or none."""

    nodeid = "t.py::test_x"

    def __init__(self, marker: pytest.MarkDecorator | None) -> None:
        self._marker = marker

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self._marker.mark if self._marker is not None and self._marker.name == name else None


@pytest.mark.parametrize(
    ("marker", "limits"),
    [
        (None, {"quick": 300.0, "full": 300.0}),
        (pytest.mark.pario_timeout(60), {"quick": 60.0, "full": 60.0}),
        (pytest.mark.pario_timeout(full=7200), {"quick": 300.0, "nightly": 300.0, "full": 7200.0}),
        (pytest.mark.pario_timeout(60, nightly=0), {"quick": 60.0, "nightly": 0.0, "full": 60.0}),
    ],
)
def test_a_limit_may_be_that_of_a_profile(marker: pytest.MarkDecorator | None, limits: dict[str, float]) -> None:
    item: Any = Item(marker)
    for profile, limit_s in limits.items():
        assert phase_limit_s(item, Options(timeout_s=300.0, profile=profile)) == limit_s
