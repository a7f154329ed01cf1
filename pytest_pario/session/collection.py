"""Did all ranks collect the same tests? Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from pytest_pario.session.ranks import name_ranks
from pytest_pario.session.wire import TEXT_LIMIT, cut_text


def digest(nodeids: Sequence[str]) -> str:
    """Digest of an ordered list of tests; ranks compare these before anything longer."""
    return hashlib.sha256("\n".join(nodeids).encode()).hexdigest()


def first_difference(root: Sequence[str], other: Sequence[str]) -> str | None:
    """Say in half a sentence where `other` leaves what root collected, or None where both agree."""
    for position, (ours, theirs) in enumerate(zip_longest(root, other), start=1):
        if ours == theirs:
            continue
        if theirs is None:
            return f"collected {len(other)} tests where root has {len(root)}: {ours} is missing"
        if ours is None:
            return f"collected {len(other)} tests where root has {len(root)}: {theirs} is not on root"
        return f"has {theirs} as test {position} where root has {ours}"
    return None


def describe_differences(differences: Mapping[int, str | None]) -> str | None:
    """One sentence about all ranks whose collection differs from root's; equal differences are told once."""
    by_difference: dict[str, list[int]] = {}
    for rank, difference in sorted(differences.items()):
        if difference is not None:
            by_difference.setdefault(difference, []).append(rank)
    if not by_difference:
        return None
    return "the ranks collected different tests: " + "; ".join(
        f"{name_ranks(ranks)} {difference}" for difference, ranks in by_difference.items()
    )


def errors_within(errors: Sequence[tuple[str, str, str]], budget_bytes: int) -> list[tuple[str, str, str]]:
    """Collection errors (module, text, line) with texts cut to a budget, for root hears those of all ranks at once."""
    cut, limit = list(errors), TEXT_LIMIT
    while len(json.dumps(cut)) > budget_bytes:
        limit //= 2
        # names alone may be too many
        kept = errors if limit else cut[: len(cut) // 2]
        cut = [(nodeid, cut_text(text, limit), cut_text(line, limit)) for nodeid, text, line in kept]
    return cut
