"""Did all ranks collect the same tests? Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from pytest_pario.session.ranks import name_ranks


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


def describe_differences(collected: Mapping[int, Sequence[str]]) -> str | None:
    """One sentence about all ranks whose collection differs from root's; equal differences are told once."""
    by_difference: dict[str, list[int]] = {}
    for rank, nodeids in sorted(collected.items()):
        difference = first_difference(collected[0], nodeids)
        if difference is not None:
            by_difference.setdefault(difference, []).append(rank)
    if not by_difference:
        return None
    return "the ranks collected different tests: " + "; ".join(
        f"{name_ranks(ranks)} {difference}" for difference, ranks in by_difference.items()
    )
