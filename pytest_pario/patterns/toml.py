"""Tables of patterns as TOML: one `[[pattern]]` for each row."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_pario.errors import ParameterError
from pytest_pario.model import Pattern
from pytest_pario.patterns.serial import pattern_from_plain
from pytest_pario.plain import plain

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def patterns_from_toml(text: str) -> tuple[Pattern, ...]:
    """The rows of a table, in order."""
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError("table", str(error), "TOML", "pattern file") from None
    if set(data) != {"pattern"} or not isinstance(data["pattern"], list):
        raise ParameterError("table", sorted(data), "[[pattern]] entries only", "pattern file")
    return tuple(pattern_from_plain(row) for row in data["pattern"])


def patterns_to_toml(patterns: Iterable[Pattern]) -> str:
    """The rows as a table that `patterns_from_toml` reads back."""
    return "\n".join(_row(pattern) for pattern in patterns)


def _row(pattern: Pattern) -> str:
    row = plain(pattern)
    assert isinstance(row, dict)
    return "[[pattern]]\n" + "".join(f"{_key(key)} = {_value(value)}\n" for key, value in row.items())


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return _text(value) if isinstance(value, str) else repr(value)
