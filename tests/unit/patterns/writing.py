"""A writer without MPI: puts every call's data where the extent table says, or somewhere else on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pytest_pario.model import Layout, Memory, Pattern, Plan
from pytest_pario.patterns import (
    Block3D,
    Content,
    RandomSizes,
    Scattered,
    Segmented,
    SparseStrided,
    Strided,
    check,
    content_of,
    plan,
    whole_payload,
)
from pytest_pario.patterns.pieces import Bytes


@dataclass(frozen=True, eq=False)
class Piece:
    rank: int
    call: int
    extent: int
    offset: int
    data: Bytes


Change = Callable[[Piece], Piece | None]


def pack(memory: Memory, buffer: Bytes) -> Bytes:
    if not memory.gap:
        return buffer
    return buffer.reshape(-1, memory.piece + memory.gap)[:, : memory.piece].ravel()


def pieces(plan: Plan, content: Content) -> Iterator[Piece]:
    for rank in range(plan.n):
        table = plan.ranks[rank]
        payload = whole_payload(content, rank, table, plan.pattern.mem)
        for call in range(table.call_count):
            data, done = pack(plan.pattern.mem, payload.call(call)), 0
            for extent in range(*table.bounds[call : call + 2].tolist()):
                length = int(table.lengths[extent])
                yield Piece(rank, call, extent, int(table.offsets[extent]), data[done : done + length])
                done += length


def image(plan: Plan, content: Content, background: int = 0, change: Change = lambda piece: piece) -> Bytes:
    """The file as a map of bytes; `change` may alter, move or drop a piece."""
    out = np.full(check.file_size(plan.ranks), background, dtype=np.uint8)
    for piece in pieces(plan, content):
        changed = change(piece)
        if changed is not None:
            room = out[changed.offset : changed.offset + changed.data.size]
            room[:] = changed.data[: room.size]
    return out


def write(path: Path, data: Bytes) -> Path:
    path.write_bytes(data.tobytes())
    return path


N = 4
LAYOUTS: dict[str, Layout] = {
    "strided": Strided(1032, per_call=8, ncalls=5),
    "strided-1M": Strided(1 << 20, ncalls=2),
    "padded": Strided(300, per_call=2, ncalls=5, pad=100, gap=50, start=77),
    "segmented": Segmented(40000, (10000,), count=4),
    "scattered": Scattered(512, 240, seed=4, region=512 * 40),
    "sub-blocks": Scattered(4096, 40, seed=4, sub=(3, 256)),
    "block3d": Block3D((16, 20, 24), 8),
    "random": RandomSizes(100, 3000, transfers=3, strides=4, seed=6, pad=64),
    "sparse": SparseStrided(1200, 9000, 8),
}


def planned(name: str) -> Plan:
    return plan(Pattern(name, LAYOUTS[name]), N)


def chosen(made: Plan) -> Piece:
    """An extent in the middle of rank 2's calls."""
    table = made.ranks[2]
    call = table.call_count // 2
    extent = int(table.bounds[call] + table.bounds[call + 1]) // 2
    return next(p for p in pieces(made, content_of(made, 9, 1)) if (p.rank, p.extent) == (2, extent))
