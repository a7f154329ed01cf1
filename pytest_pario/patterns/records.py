"""Verifier for the unordered shared pointer: every record whole, each exactly once, in any order."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pytest_pario.errors import ParameterError
from pytest_pario.model import Damage, Plan
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.stamp import Content, cut

HEAD = 16
"""Bytes by which a record is recognised."""


class Record(NamedTuple):
    """One call's data, wherever they went."""

    rank: int
    call: int
    source: int
    """First byte in the stream of the rank."""


def verify_records(path: str | Path, plan: Plan, content: Content) -> Damage | None:
    """Compare a file of equal records, one for each call of each rank, in whatever order they came."""
    size = _record_size(plan)
    awaited = _awaited(plan, content, size)
    data = np.fromfile(path, dtype=np.uint8)
    wanted = np.empty(size, dtype=np.uint8)
    torn: Damage | None = None
    unknown: list[int] = []
    for offset in range(0, data.size, size):
        found = data[offset : offset + size]
        candidates = awaited.get(found[:HEAD].tobytes(), [])
        if not candidates:
            unknown.append(offset)
        else:
            record = candidates.pop(0)
            content.stream(record.rank).fill(wanted, record.source)
            torn = torn or _compare(str(path), offset, found, record, wanted)
    missing = _missing(awaited)
    if unknown and (torn is None or unknown[0] < torn.offset):
        return _unknown(str(path), unknown, data, size, missing)
    return torn or (_absent(str(path), data.size, size, missing) if missing else None)


def _compare(path: str, offset: int, found: Bytes, record: Record, wanted: Bytes) -> Damage | None:
    bad = np.flatnonzero(wanted[: found.size] != found)
    if not bad.size and found.size == wanted.size:
        return None
    at = int(bad[0]) if bad.size else found.size
    actual = int(found[at]) if at < found.size else None
    text = f"the record at {offset} is torn: it begins as this call's and goes on otherwise"
    count = bad.size + wanted.size - found.size
    return Damage(path, offset + at, int(wanted[at]), actual, count, record.rank, record.call, text)


def _record_size(plan: Plan) -> int:
    sizes = {int(size) for table in plan.ranks for size in np.unique(table.call_bytes)}
    if len(sizes) != 1 or 0 in sizes:
        raise ParameterError(f"{plan.pattern.name}: layout", sorted(sizes)[:4], "one of calls of one size")
    return sizes.pop()


def _awaited(plan: Plan, content: Content, size: int) -> dict[bytes, list[Record]]:
    """All records by their first bytes; in a long file several may begin alike."""
    awaited = defaultdict(list)
    head = np.empty(min(HEAD, size), dtype=np.uint8)
    for rank, table in enumerate(plan.ranks):
        cuts, stream = cut(table, content), content.stream(rank)
        firsts = np.unique(cuts.calls, return_index=True)[1]
        for call, source in enumerate(cuts.sources[firsts].tolist()):
            stream.fill(head, source)
            awaited[head.tobytes()].append(Record(rank, call, source))
    return awaited


def _missing(awaited: dict[bytes, list[Record]]) -> list[tuple[Record, int]]:
    """Records that have not been found, by rank and call, with their first byte."""
    return sorted((record, head[0]) for head, records in awaited.items() for record in records)


def _unknown(path: str, places: list[int], data: Bytes, size: int, missing: list[tuple[Record, int]]) -> Damage:
    offset, bad = places[0], sum(min(size, data.size - place) for place in places)
    if not missing:
        text = "all records came before: the file is too long"
        return Damage(path, offset, None, int(data[offset]), bad, None, None, text)
    (rank, call, _), expected = missing[0]
    text = f"no record of a call begins here, or one that came before; records missing: {len(missing)}"
    return Damage(path, offset, expected, int(data[offset]), bad, rank, call, text)


def _absent(path: str, end: int, size: int, missing: list[tuple[Record, int]]) -> Damage:
    (rank, call, _), expected = missing[0]
    text = f"the file ends here; records are missing: {len(missing)}"
    return Damage(path, end, expected, None, size * len(missing), rank, call, text)
