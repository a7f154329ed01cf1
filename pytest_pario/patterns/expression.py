"""Whole-number expressions over the number of ranks, such as `340992*n`, evaluated without `eval` (MODEL-12)."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from pytest_pario.errors import ParameterError
from pytest_pario.units import GiB, KiB, MiB, TiB

_NAMES = {"KiB": KiB, "MiB": MiB, "GiB": GiB, "TiB": TiB}
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_ALLOWED = f"whole numbers, n, {', '.join(_NAMES)}, + - * // % and brackets, at most 200 characters"


def evaluate(text: str, n: int) -> int:
    """The value of the expression for `n` ranks."""
    try:
        if len(text) > 200:
            raise ValueError
        return _value(ast.parse(text.strip(), mode="eval").body, {**_NAMES, "n": n})
    except (SyntaxError, ValueError, KeyError, ZeroDivisionError, RecursionError, MemoryError):
        raise ParameterError("expression", text, _ALLOWED) from None


def _value(node: ast.expr, names: dict[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, names), _value(right, names))
        case _:
            raise ValueError
