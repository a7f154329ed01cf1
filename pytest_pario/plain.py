"""Nouns as plain data, for JSON and TOML."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


def plain(value: object) -> object:
    """Turn nouns into plain data for JSON and TOML, without defaults, so that a new field keeps old ids."""
    if callable(parameters := getattr(value, "parameters", None)):
        return {"name": getattr(value, "name", ""), **{k: plain(v) for k, v in parameters().items()}}
    if dataclasses.is_dataclass(value):
        found: dict[str, object] = {"name": value.name} if hasattr(value, "name") else {}
        for f in dataclasses.fields(value):
            default = f.default_factory() if f.default_factory is not dataclasses.MISSING else f.default
            if getattr(value, f.name) != default:
                found[f.name] = plain(getattr(value, f.name))
        return found
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (tuple, list)) else value
