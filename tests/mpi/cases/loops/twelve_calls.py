"""MODEL-06: all twelve calls through each kind of loop move the same bytes to and from the same places."""

import numpy as np
from stage import COMM, FILE, KINDS, MPI, RANK, SIZE, make_loop, open_file, tell

CALLS, PIECE = 6, 40
sizes = [PIECE] * CALLS
starts = np.arange(CALLS)[::-1] * (PIECE + 8)
slots = np.arange(CALLS) * SIZE + RANK
mine = np.random.default_rng(RANK).integers(0, 256, CALLS * (PIECE + 8), dtype=np.uint8)
pieces = [mine[start : start + PIECE].tobytes() for start in starts]
everyone = COMM.allgather(pieces)
in_slots = b"".join(everyone[rank][call] for call in range(CALLS) for rank in range(SIZE))
in_rows = b"".join(b"".join(row) for row in everyone)


def cut(content):
    return sorted(content[at : at + PIECE] for at in range(0, len(content), PIECE))


def exchange(kind, file, write, read, offsets=None, rewind=None):
    """Write, look at the file without MPI, read into other memory; return the file and what was read."""
    out = make_loop(kind, file, write, mine, starts, sizes, offsets, timed=kind == "compiled")
    assert out.run() == CALLS and out.moved_bytes.tolist() == sizes and not out.errors, (write, out.errors)
    file.Sync()
    COMM.Barrier()
    content = FILE.read_bytes()
    if rewind:
        rewind(0)
    COMM.Barrier()
    memory = np.zeros_like(mine)
    back = make_loop(kind, file, read, memory, starts, sizes, offsets)
    assert back.run() == CALLS and back.moved_bytes.tolist() == sizes and not back.errors, (read, back.errors)
    COMM.Barrier()
    return content, [memory[start : start + PIECE].tobytes() for start in starts]


for kind in KINDS:
    for suffix in ("_at_all", "_at"):
        file = open_file()
        assert exchange(kind, file, f"write{suffix}", f"read{suffix}", slots * PIECE) == (in_slots, pieces), suffix
        # the same in etypes of a view
        file.Set_view(0, MPI.DOUBLE, MPI.DOUBLE)
        file.Set_size(0)
        assert exchange(kind, file, f"write{suffix}", f"read{suffix}", slots * PIECE // 8) == (in_slots, pieces), suffix
        file.Close()
        MPI.COMM_WORLD.Barrier()
    for suffix in ("_all", ""):
        file = open_file()
        file.Set_size(0)
        file.Set_view(RANK * CALLS * PIECE)
        assert exchange(kind, file, f"write{suffix}", f"read{suffix}", rewind=file.Seek) == (in_rows, pieces), suffix
        file.Close()
    file = open_file()
    file.Set_size(0)
    assert exchange(kind, file, "write_ordered", "read_ordered", rewind=file.Seek_shared) == (in_slots, pieces)
    file.Set_size(0)
    file.Seek_shared(0)
    COMM.Barrier()
    content, read = exchange(kind, file, "write_shared", "read_shared", rewind=file.Seek_shared)
    # who comes first is open; every piece arrives once
    assert cut(content) == cut(in_slots)
    assert sorted(sum(COMM.allgather(read), [])) == cut(content)
    file.Close()
tell(kinds=KINDS)
