"""Lines about BTIO: a file that was looked at, and runs side by side. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol


class Compared(Protocol):
    """Norms beside what they must be."""

    @property
    def holds(self) -> bool:
        """Whether they are within the tolerance."""


class Inspected(Protocol):
    """A file that was looked at."""

    @property
    def path(self) -> str:
        """Its name."""

    @property
    def fields(self) -> Sequence[Sequence[float]]:
        """Norms of each field."""

    @property
    def comparisons(self) -> Sequence[Compared]:
        """Norms beside what they must be."""

    @property
    def findings(self) -> Sequence[str]:
        """What is wrong."""

    @property
    def point_deviation(self) -> float | None:
        """Largest relative deviation of a number from the one computed here; None where fields were not computed."""

    @property
    def verified(self) -> bool:
        """The verdict."""


def inspection_lines(found: Inspected, class_name: str) -> list[str]:
    """One line for each field, one for each comparison, what is wrong, and the verdict."""
    lines = [f"{found.path}: class {class_name}, {len(found.fields)} fields", "field  norms of the deviation"]
    lines += [f"{number:>5}  " + " ".join(f"{norm:.6e}" for norm in norms) for number, norms in enumerate(found.fields)]
    lines += [f"{'ok' if one.holds else 'NO'}  {one}" for one in found.comparisons]
    if found.point_deviation is not None and not found.findings:
        lines.append(f"ok  every number: largest deviation {found.point_deviation:.1e} from those computed here")
    lines += [f"NO  {finding}" for finding in found.findings]
    if found.point_deviation is None and found.verified:
        lines.append("    single numbers were not compared (--solve), and the norms hardly see a change of one")
    return [*lines, "verified" if found.verified else "NOT verified"]


def table_lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table with the first column to the left and numbers to the right."""
    whole = [list(head), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in whole) for column in range(len(head))]
    texts = [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in whole]
    return ["  ".join(row).rstrip() for row in texts]
