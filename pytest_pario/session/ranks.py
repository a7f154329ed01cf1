"""Ranks in words."""

from __future__ import annotations

from collections.abc import Iterable


def name_ranks(ranks: Iterable[int]) -> str:
    """`rank 2`, or `ranks 0,1,3`, or `ranks 0-15` for three and more in a row."""
    ordered = sorted(set(ranks))
    if len(ordered) == 1:
        return f"rank {ordered[0]}"
    runs: list[list[int]] = []
    for rank in ordered:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return "ranks " + ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)
