from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.session.limits import START_S, start_limit_s, within_start_limit


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
