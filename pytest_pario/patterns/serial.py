"""Patterns and records from plain data, and to and from JSON; the way to plain data is `pytest_pario.plain`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from pytest_pario.errors import ParameterError, UnknownParameterError
from pytest_pario.model import (
    Damage,
    Derived,
    Fixed,
    Hints,
    Memory,
    Open,
    Pattern,
    Record,
    Repeat,
    Replay,
    Samples,
    Spread,
    Timed,
)
from pytest_pario.patterns.catalogue import build
from pytest_pario.plain import plain

T = TypeVar("T")
Plain = Mapping[str, Any]

_REPEATS: dict[str, Callable[..., Repeat]] = {kind.name: kind for kind in (Fixed, Timed, Replay, Derived)}


def to_json(noun: object) -> str:
    """One line of JSON."""
    return json.dumps(plain(noun), sort_keys=True)


def pattern_from_json(text: str) -> Pattern:
    """The pattern that `to_json` wrote."""
    return pattern_from_plain(json.loads(text))


def pattern_from_plain(data: Plain) -> Pattern:
    """A pattern from dictionaries, lists and scalars; unknown keys are refused."""
    makers: dict[str, Callable[[Any], object]] = {
        "layout": lambda given: build(*_named("layout", given)),
        "repeat": _repeat,
        "mem": lambda given: _make(Memory, "mem", given),
        "open": lambda given: _make(Open, "open", given),
        "hints": lambda given: _make(Hints, "hints", given),
        "access": _tuple,
    }
    if "name" not in data or "layout" not in data:
        raise ParameterError("pattern", dict(data), "given with a name and a layout")
    return _make(Pattern, str(data["name"]), {k: makers[k](v) if k in makers else v for k, v in data.items()})


def record_from_plain(data: Plain) -> Record:
    """A record from plain data."""
    samples = {
        key: tuple(Spread(**part) if isinstance(part, dict) else part for part in parts)
        for key, parts in data["samples"].items()
    }
    changed = {"pattern": pattern_from_plain(data["pattern"]), "samples": _make(Samples, "samples", samples)}
    if data.get("damage"):
        changed["damage"] = _make(Damage, "damage", data["damage"])
    return _make(Record, "record", {**data, "flags": tuple(data.get("flags", ())), **changed})


def _repeat(given: Any) -> Repeat:
    name, values = _named("repeat", given)
    if name not in _REPEATS:
        raise ParameterError("repeat", name, "one of " + ", ".join(sorted(_REPEATS)))
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return _make(_REPEATS[name], "repeat", values)


def _named(what: str, given: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(given, Mapping) or "name" not in given:
        raise ParameterError(what, given, "a table with a name")
    return str(given["name"]), {key: value for key, value in given.items() if key != "name"}


def _tuple(given: Any) -> tuple[Any, ...]:
    return tuple(given)


def _make(kind: Callable[..., T], what: str, values: Plain) -> T:
    known = {f.name: type(f.default) for f in fields(kind)}  # type: ignore[arg-type]
    for key, value in values.items():
        if key not in known:
            raise UnknownParameterError(f"{what}.{key}", (f"{what}.{name}" for name in known))
        if known[key] in (bool, int, str) and type(value) is not known[key]:
            raise ParameterError(f"{what}.{key}", value, f"of type {known[key].__name__}")
    try:
        return kind(**values)
    except TypeError as error:
        raise ParameterError(what, dict(values), f"complete and of the right types ({error})") from None
