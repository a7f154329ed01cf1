"""The layout attribute of Lustre, `lustre.lov`, in its binary forms: plain V1 and V3, and composite V1."""

from __future__ import annotations

import struct
from dataclasses import dataclass

V1, V3, SPECIFIC, COMPOSITE = 0x0BD10BD0, 0x0BD30BD0, 0x0BD50BD0, 0x0BD40BD0
ALL_TARGETS = 0xFFFF
END_OF_FILE = 0xFFFFFFFFFFFFFFFF

RAID0, MDT, OVERSTRIPED = 0x001, 0x100, 0x200
_FLAGS = 0xFFFF0000
"""Bits of the pattern that say released or damaged, not how data are spread."""

# lov_user_md: magic, pattern, 16 bytes of object id, stripe size, stripe count, generation or first target
_PLAIN = struct.Struct("<II16xIHH")
# V3 only: name of the pool, 16 bytes
_POOL = struct.Struct("<16s")
# lov_comp_md_v1: magic, size, generation, flags, entries, mirrors - 1, 14 bytes of padding
_HEAD = struct.Struct("<IIIHHH14x")
# lov_comp_md_entry_v1: id, flags, extent start and end, offset and size of the plain layout, 16 bytes of other things
_ENTRY = struct.Struct("<IIQQII16x")


@dataclass(frozen=True)
class Component:
    """One component of a layout; a plain layout is one component from 0 to the end of the file."""

    start: int
    end: int | None
    """None is the end of the file."""
    unit: int
    """Bytes; 0 asks for the default of the filesystem."""
    count: int
    """Number of targets; -1 is all of them, 0 the default of the filesystem."""
    pattern: str
    """raid0, mdt (data on the metadata server) or raid0,overstriped (a target may hold several stripes)."""
    pool: str


def parse_lov(data: bytes) -> list[Component]:
    """Components of a layout attribute; empty where the bytes are of a kind that is not known here."""
    try:
        magic = struct.unpack_from("<I", data)[0]
        if magic != COMPOSITE:
            return [_plain(data, 0, 0, None)] if magic in (V1, V3, SPECIFIC) else []
        entries = _HEAD.unpack_from(data)[4]
        return [_entry(data, _HEAD.size + k * _ENTRY.size) for k in range(entries)]
    except (struct.error, ValueError):
        return []


def _entry(data: bytes, at: int) -> Component:
    _, _, start, end, offset, _ = _ENTRY.unpack_from(data, at)
    return _plain(data, offset, start, None if end == END_OF_FILE else end)


def _plain(data: bytes, at: int, start: int, end: int | None) -> Component:
    magic, pattern, unit, count, _ = _PLAIN.unpack_from(data, at)
    if magic not in (V1, V3, SPECIFIC):
        raise ValueError(f"a component with the magic number 0x{magic:x}")
    pool = b"" if magic == V1 else _POOL.unpack_from(data, at + _PLAIN.size)[0]
    name = pool.split(b"\0")[0].decode("ascii", "replace")
    return Component(start, end, unit, -1 if count == ALL_TARGETS else count, pattern_name(pattern), name)


def pattern_name(pattern: int) -> str:
    """The word that new versions of `lfs` print for a pattern."""
    kind = pattern & ~_FLAGS
    names = {0: "raid0", RAID0: "raid0", MDT: "mdt", OVERSTRIPED | RAID0: "raid0,overstriped"}
    return names.get(kind, f"0x{kind:x}")
