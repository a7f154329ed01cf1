"""The fingerprint of the place of a run, and how two of them differ."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias, Union

from pytest_pario.environment.facts import KNOWN, Role, fact_named

Json: TypeAlias = Union[bool, int, float, str, list["Json"], dict[str, "Json"], None]  # noqa: UP007 - recursive


class Told(NamedTuple):
    """What a collector found: plain JSON data, and which tool or file told it."""

    value: Json
    source: str


class Difference(NamedTuple):
    """A fact that is not the same in two fingerprints; None stands for a fact that one of them lacks."""

    name: str
    before: Json
    after: Json


class Fingerprint(Mapping[str, Json]):
    """Facts of the place of a run: a mapping from name to value that cannot be changed and knows its sources."""

    def __init__(self, told: Mapping[str, Told] | None = None) -> None:
        """Take what collectors told; a value that is not plain JSON data is refused."""
        found = {name: Told(*answer) for name, answer in sorted((told or {}).items())}
        self._values: dict[str, Json] = json.loads(
            json.dumps({name: answer.value for name, answer in found.items()}, allow_nan=False)
        )
        self._sources = {name: answer.source for name, answer in found.items()}

    def __getitem__(self, name: str) -> Json:
        return copy.deepcopy(self._values[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Fingerprint({self._values!r})"

    def source(self, name: str) -> str:
        """Which tool or file told a fact."""
        return self._sources[name]

    def to_json(self) -> dict[str, Json]:
        """Plain data for a file; `from_json` makes an equal fingerprint of it."""
        return {name: {"value": self[name], "source": self._sources[name]} for name in self}

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> Fingerprint:
        """Read what `to_json` wrote, of this or of another version; rows of another shape are left out."""
        told = {}
        for name, row in data.items():
            if isinstance(row, dict) and "value" in row:
                told[name] = Told(row["value"], str(row.get("source", "")))
        return cls(told)


def differences(
    before: Mapping[str, Json],
    after: Mapping[str, Json],
    roles: tuple[Role, ...] = ("identity", "setting"),
    one_sided: bool = False,
) -> list[Difference]:
    """Facts of the given roles that changed, in the order of the table.

    A fact that only one side has is not a change, because a tool that was silent once tells nothing; `one_sided` lists
    it all the same.
    """
    names = [name for name in {**before, **after} if fact_named(name).role in roles]
    order = {name: k for k, name in enumerate(KNOWN)}
    found = []
    for name in sorted(names, key=lambda name: (order.get(name, len(order)), name)):
        if (name in before and name in after) or one_sided:
            old, new = before.get(name), after.get(name)
            if old != new:
                found.append(Difference(name, old, new))
    return found


def mismatches(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[Difference]:
    """Facts that must match for a comparison and do not; empty where the runs measured the same thing."""
    return differences(before, after, roles=("identity",))
