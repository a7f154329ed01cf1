from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_pario.errors import ParameterError
from pytest_pario.patterns.expression import evaluate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("340992*n", 340992 * 8),  # MODEL-12
        ("64*MiB//n", 8 << 20),
        ("(n + 1) * 2 - -3", 21),
        (" 7 % n ", 7),
        ("2*GiB", 2 << 30),
    ],
)
def test_value_on_eight_ranks(text: str, value: int) -> None:
    assert evaluate(text, 8) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n n",
        "m",
        "n/2",
        "2**n",
        "n//0",
        "1.5",
        "True",
        "'n'",
        "n.real",
        "f(n)",
        "[n]",
        "n if n else 1",
        "lambda: n",
    ],
)
def test_nothing_else_is_evaluated(text: str) -> None:
    with pytest.raises(ParameterError, match="expression"):
        evaluate(text, 2)


@pytest.mark.parametrize("text", ["1" * 201, "(" * 100 + "n" + ")" * 99, "-" * 199 + "n"])
def test_expressions_are_bounded(text: str) -> None:
    if text.startswith("-"):
        assert evaluate(text, 2) == -2
    else:
        with pytest.raises(ParameterError):
            evaluate(text, 2)


@given(st.text(max_size=60))
def test_any_text_is_a_number_or_refused(text: str) -> None:
    with contextlib.suppress(ParameterError):
        assert isinstance(evaluate(text, 3), int)
