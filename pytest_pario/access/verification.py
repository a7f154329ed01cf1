"""After the clock has stopped: every byte is checked, where possible by other ranks than its writer (GEN-04)."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

from pytest_pario import mpi
from pytest_pario.access.target import Target
from pytest_pario.errors import VerificationError
from pytest_pario.model import Damage, Plan
from pytest_pario.patterns.memory import count_touched
from pytest_pario.patterns.payload import Payload, make_room, whole_payload
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.readback import verify_reads
from pytest_pario.patterns.records import verify_records
from pytest_pario.patterns.stamp import LINE, Content
from pytest_pario.patterns.verify import merge, verify_file

if TYPE_CHECKING:
    from mpi4py import MPI

POISON = 0xA5
"""Receive buffers are filled with it before a read."""


def verify_written(target: Target, plan: Plan, content: Content) -> None:
    """Compare the file, or files, with an image made from the extent tables only (GEN-04 a)."""
    comm, pattern = target.comm, target.pattern
    # a file that one rank cannot look at ends the test for all
    damage = mpi.together(comm, f"{pattern.name}: verifying", lambda: _find_damage(target, plan, content))
    raise_together(comm, pattern.name, damage)


def _find_damage(target: Target, plan: Plan, content: Content) -> Damage | None:
    comm, pattern = target.comm, target.pattern
    if pattern.pointer == "shared" and not pattern.coll:
        # records in any order: one rank has to see them all
        return verify_records(target.path, plan, content) if comm.rank == 0 else None
    if pattern.files == "each":
        other = (comm.rank + 1) % comm.size
        return verify_file(target.file_of(other), plan, content, rank=other, background=pattern.open.background)
    return verify_file(target.path, plan, content, background=pattern.open.background, part=(comm.rank, comm.size))


def make_reading_room(target: Target, plan: Plan, line: int = LINE) -> Payload:
    """Room for all that this rank reads, poisoned."""
    room = make_room(plan.ranks[target.rank], target.pattern.mem, line)
    room.data[:] = POISON
    return room


def verify_read(target: Target, plan: Plan, content: Content, room: Payload, of: int | None = None) -> None:
    """Compare what was read with what rank `of`, or this rank, wrote (GEN-04 b)."""
    pattern = target.pattern
    damage: Damage | None = None
    if pattern.pointer == "shared" and not pattern.coll:
        _verify_any_order(target, plan, content, room)
    else:
        damage = verify_reads(room, plan, target.rank if of is None else of, content, path=str(target.own_file))
    raise_together(target.comm, pattern.name, damage)
    mem = pattern.mem
    if mem.gap:
        touched = sum(
            count_touched(mem, room.call(call), room.call(call).size * mem.piece // (mem.piece + mem.gap), POISON)
            for call in range(len(room.positions))
        )
        if mpi.agree(target.comm, touched > 0):
            raise VerificationError(pattern.name, f"a read overwrote {touched} bytes in the gaps of memory")


def _verify_any_order(target: Target, plan: Plan, content: Content, room: Payload) -> None:
    """Records that came in any order to any rank: all of them together must be those that were written, each once."""
    mine = [_digest(room.call(call)) for call in range(len(room.positions))]
    told = target.comm.allgather(mine)

    def compare() -> None:
        written = [
            _digest(payload.call(call))
            for rank in range(target.comm.size)
            for payload in [whole_payload(content, rank, plan.ranks[rank])]
            for call in range(len(payload.positions))
        ]
        strange = Counter(one for rank in told for one in rank) - Counter(written)
        if strange:
            guilty = sorted({rank for rank, read in enumerate(told) for one in read if one in strange})
            count = sum(strange.values())
            raise VerificationError(target.pattern.name, f"{count} records read that nobody wrote, on ranks {guilty}")

    mpi.on_root(target.comm, compare)


def _digest(data: Bytes) -> bytes:
    return hashlib.blake2b(data.tobytes(), digest_size=16).digest()


def cross_read(target: Target, plan: Plan, content: Content) -> None:
    """Read through MPI, with explicit offsets, what the next rank wrote (GEN-04 c); not for memory with gaps."""
    comm, other = target.comm, (target.comm.rank + 1) % target.comm.size
    room = mpi.together(comm, f"{target.pattern.name}: reading across", lambda: _read_of(target, plan, other))
    damage = verify_reads(room, plan, other, content, path=str(target.file_of(other)))
    raise_together(comm, target.pattern.name, damage)


def _read_of(target: Target, plan: Plan, other: int) -> Payload:
    """All that another rank wrote, read by this one alone."""
    table, codes = plan.ranks[other], mpi.load()
    room = make_room(table)
    room.data[:] = POISON
    handle = codes.File.Open(codes.COMM_SELF, str(target.file_of(other)), codes.MODE_RDONLY)
    try:
        for call in range(table.call_count):
            memory, begin = room.call(call), 0
            for extent in range(int(table.bounds[call]), int(table.bounds[call + 1])):
                length = int(table.lengths[extent])
                handle.Read_at(int(table.offsets[extent]), memory[begin : begin + length])
                begin += length
    finally:
        handle.Close()
    return room


def raise_together(comm: MPI.Comm, row: str, damage: Damage | None) -> None:
    """Raise on every rank what any rank found, as one damage (ERR-08)."""
    found = merge(comm.allgather(damage))
    if found is not None:
        raise VerificationError(row, found)
