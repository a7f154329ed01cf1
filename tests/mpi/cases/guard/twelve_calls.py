"""MODEL-06: all twelve data calls move the right bytes through the guard, also with nothing to move."""

from stage import COMM, RANK, SIZE, attempt, open_file

mine, size = bytes([65 + RANK]) * 8, SIZE * 8
moved = []


def exchange(file, write, read, *offset, rewind=None):
    moved.append(write(*offset, mine))
    file.sync()
    COMM.Barrier()
    if rewind:
        rewind(0)
    piece = bytearray(8)
    moved.append(read(*offset, piece))
    moved.append(write(*offset, b""))
    return piece


def move():
    with open_file() as file:
        assert exchange(file, file.write_at_all, file.read_at_all, RANK * 8) == mine
        assert exchange(file, file.write_at, file.read_at, RANK * 8) == mine
        file.set_view(RANK * 8)
        assert exchange(file, file.write_all, file.read_all, rewind=file.seek) == mine
        file.seek(0)
        assert exchange(file, file.write, file.read, rewind=file.seek) == mine
        file.set_view(0)
        assert exchange(file, file.write_ordered, file.read_ordered, rewind=file.seek_shared) == mine
        file.seek_shared(0)
        shared = exchange(file, file.write_shared, file.read_shared, rewind=file.seek_shared)
        assert sorted(b"".join(COMM.allgather(bytes(shared)))) == sorted(b"".join(COMM.allgather(mine)))
        assert file.get_size() == size and moved == [8, 8, 0] * 6, moved


attempt(move)
