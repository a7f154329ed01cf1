"""Sizes as tools print them: `512k`, `4M`, `64MB`, `16G`, `1 MiB`."""

from __future__ import annotations

import re

# 512k | 64MB | 1.5 GiB | 4194304
_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<prefix>[kmgtp]?)(?:i?b)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


def parse_bytes(text: str) -> int | None:
    """Bytes that a text names; None where it names none. Storage tools mean powers of two with every spelling."""
    match = _SIZE.fullmatch(text.strip())
    return round(float(match["number"]) * 1024 ** _POWERS[match["prefix"].lower()]) if match else None
