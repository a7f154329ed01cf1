"""A fingerprint as text: grouped, in the order of the table, one screen."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

from pytest_pario.environment.facts import FACTS, SITE, Fact, fact_named
from pytest_pario.environment.fingerprint import Difference, Json
from pytest_pario.units import format_bytes

WIDTH = 110
LINES_PER_GROUP = 3
INDENT = 13
MOST_ITEMS = 12
"""Of a longer list the first half of as many, the last and the count are shown."""


def describe(fingerprint: Mapping[str, Json]) -> list[str]:
    """One paragraph per group, `name value; name value`; cut where a group would take more than three lines."""
    known = [fact for fact in FACTS if fact.name in fingerprint]
    site = [fact_named(name) for name in fingerprint if fact_named(name) not in known]
    groups: dict[str, list[str]] = {}
    for fact in [*known, *site]:
        item = f"{label(fact)} {format_value(fact.name, fingerprint[fact.name])}"
        groups.setdefault(fact.group, []).append(item)
    return [line for group, items in groups.items() for line in _paragraph(group, items)]


def label(fact: Fact) -> str:
    """The name of a fact in words, without what the heading and the unit say already."""
    prefix = {"striping": "stripe"}.get(fact.group, fact.group)
    name = fact.name.removesuffix("_bytes") if fact.unit == "B" else fact.name
    return name.removeprefix(f"{prefix}_").removeprefix(SITE).replace("_", " ")


def describe_differences(changes: Iterable[Difference]) -> list[str]:
    """One line per fact that changed: `kernel: 6.1.0 -> 6.1.9`; of lists only what went and what came."""
    return [f"{change.name}: {_change(change)}" for change in changes]


def _change(change: Difference) -> str:
    before, after = _items(change.before), _items(change.after)
    if before is None or after is None:
        return f"{format_value(change.name, change.before)} -> {format_value(change.name, change.after)}"
    gone, come = ([item for item in one if item not in other] for one, other in ((before, after), (after, before)))
    return " ".join([*(f"-{item}" for item in gone), *(f"+{item}" for item in come)]) or "another order"


def _items(value: Json) -> list[str] | None:
    if isinstance(value, dict):
        return [f"{key}={format_value('', item)}" for key, item in value.items()]
    return [format_value("", item) for item in value] if isinstance(value, list) else None


def format_value(name: str, value: Json) -> str:
    """A value as people read it: sizes with units, lists with commas, yes and no."""
    items = _items(value)
    if items is not None:
        text = _cut(items, " " if isinstance(value, dict) else ", ")
        return f"({text})" if isinstance(value, dict) and items else text
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and fact_named(name).unit == "B":
        return format_bytes(value)
    if isinstance(value, float):
        return f"{value:.3g}"
    return "unknown" if value is None else str(value) or "none"


def _cut(items: list[str], separator: str) -> str:
    if len(items) <= MOST_ITEMS:
        return separator.join(items) or "none"
    return separator.join([*items[: MOST_ITEMS // 2], "…", items[-1]]) + f" ({len(items)} in all)"


def _paragraph(group: str, items: list[str]) -> list[str]:
    return textwrap.wrap(
        "; ".join(items),
        width=WIDTH,
        initial_indent=f"{group:<{INDENT}}",
        subsequent_indent=" " * INDENT,
        max_lines=LINES_PER_GROUP if group != "errors" else None,
        placeholder=" …",
        break_long_words=False,
        break_on_hyphens=False,
    )
