"""Sizes and rates: the only place where a unit has a value."""

import re

KiB = 1 << 10
MiB = 1 << 20
GiB = 1 << 30
TiB = 1 << 40

MB = 10**6
"""The b_eff_io reports count rates in powers of ten (GEN-01)."""


def mib_per_s(moved_bytes: int, elapsed_s: float) -> float:
    """Rate in MiB/s; never rounds the byte count first (GEN-01)."""
    return moved_bytes / elapsed_s / MiB if elapsed_s > 0 else float("inf")


def format_bytes(count: int) -> str:
    """Exact where a binary unit divides the count, else three significant digits: `32 KiB`, `1032 B`, `1.2 GiB`."""
    for unit, value in (("TiB", TiB), ("GiB", GiB), ("MiB", MiB), ("KiB", KiB)):
        if count >= value:
            return f"{count // value} {unit}" if count % value == 0 else f"{count / value:.3g} {unit}"
    return f"{count} B"


def parse_bytes(text: str) -> int:
    """Take `4096`, `64K`, `64KiB` or `1 MiB`; ValueError for anything else."""
    match = re.fullmatch(r"(\d+) *(?:([KMGT])(?:i?B)?|B)?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError(text)
    return int(match[1]) * {"": 1, "K": KiB, "M": MiB, "G": GiB, "T": TiB}[(match[2] or "").upper()]
