"""Memory with gaps: so many elements of a datatype per call; a datatype that leaves the buffer is refused."""

import numpy as np
from stage import COMM, FILE, KINDS, MPI, RANK, opened, tell

from pytest_pario.access.calls import find_call
from pytest_pario.access.loops import Loop, find_loop, gapped_series
from pytest_pario.errors import ParameterError

# three bytes of every five: an element of 15 bytes extent and 9 bytes size
vector = MPI.BYTE.Create_vector(3, 3, 5)
element = vector.Create_resized(0, 15)
mine = np.random.default_rng(RANK).integers(1, 256, 100, dtype=np.uint8)
starts, counts = [40, 0], [4, 2]
kept = np.arange(15) % 5 < 3
wanted = [mine[start : start + 15 * count].reshape(-1, 15)[:, kept].tobytes() for start, count in zip(starts, counts)]
offsets = [RANK * 54, RANK * 54 + 36]
refused = 0
for kind in KINDS:
    with opened() as file:
        for write, read in (("write_at_all", "read_at_all"), ("write_at", "read_at")):
            series = gapped_series(file, find_call(write), mine, starts, counts, datatype=element, offsets=offsets)
            loop = Loop(series, find_loop(kind))
            loop.run()
            assert loop.moved_bytes.tolist() == [36, 18], loop.moved_bytes
            file.Sync()
            COMM.Barrier()
            assert FILE.read_bytes()[RANK * 54 : RANK * 54 + 54] == b"".join(wanted)
            memory = np.zeros_like(mine)
            back = gapped_series(file, find_call(read), memory, starts, counts, datatype=element, offsets=offsets)
            Loop(back, find_loop(kind)).run()
            for start, count, piece in zip(starts, counts, wanted):
                assert memory[start : start + 15 * count].reshape(-1, 15)[:, kept].tobytes() == piece
            assert np.count_nonzero(memory) == 54
        for bad in (dict(starts=[43], counts=[4]), dict(starts=[0], counts=[8]), dict(starts=[0], counts=[-1])):
            try:
                gapped_series(file, find_call("write_at"), mine, datatype=element, offsets=[0], **bad)
            except ParameterError:
                refused += 1
        COMM.Barrier()
tell(refused=refused)
