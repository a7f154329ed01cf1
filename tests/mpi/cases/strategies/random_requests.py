"""Random requests of all kinds under every strategy, against an image made from the extent tables and against what
the library's own collective call leaves; no runner around."""

import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from pytest_pario.errors import ParioError
from pytest_pario.patterns import Block3D, Cells, RandomSizes, Same, Scattered, Segmented, SparseStrided, Strided, Tiles
from pytest_pario.schemes.ranges import call_of
from pytest_pario.schemes.settings import parse_strategy
from pytest_pario.strategies.catalogue import make_strategy
from pytest_pario.strategies.files import MpiFile
from pytest_pario.strategies.protocol import Movement, Site

comm, directory, seed, turns = MPI.COMM_WORLD, Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
n, me = comm.size, comm.rank
dice = np.random.default_rng(seed)


def pick(low, high):
    return int(dice.integers(low, high))


def layouts():
    yield Segmented(4096 * 2, (4096, 1, 0, pick(1, 2000)))
    yield Strided(pick(1, 3000), per_call=pick(1, 9), ncalls=2)
    yield Strided(pick(1, 5000), per_call=2, ncalls=1, pad=pick(1, 9000), gap=pick(0, 70))
    yield Tiles(n, 1, 20, 10, 3, 4, 0, 777)
    yield Block3D((pick(1, 8), pick(1, 9), pick(1, 12)), 4)  # some ranks have nothing
    yield Scattered(pick(16, 1024), 64 * n, seed=3)
    yield Scattered(1024, 16 * n, seed=pick(1, 99), sub=(2, 64), fraction=0.5)
    yield RandomSizes(0, pick(2, 5000), 4, 2, seed=pick(1, 99), start=13, pad=7)
    yield SparseStrided(1200, 1200 * n + pick(0, 24000), 2)
    yield Same(5000, 1)
    yield Cells((4, 2 * n, 3), tuple((((0, 2 * r, 0), (4, 2, 3)),) for r in range(n)), 5)


def strategies():
    yield f"two_phase:buffer={pick(1, 9000)}"
    yield f"two_phase:agents={pick(1, n + 1)}"
    yield f"data_shipping:block={pick(1, 600)},stripe={pick(1, 4000)}"
    yield f"data_shipping:agents={pick(1, n + 1)}"
    yield f"resonant:unit={pick(1, 3000)},nodes={pick(1, n + 1)}"  # fewer nodes than ranks
    yield f"resonant:unit={pick(1, 3000)},nodes={n + pick(1, 6)},buffer=5000"  # more nodes than ranks
    yield f"resonant:unit={pick(64, 3000)},nodes={pick(2, 6)},scheme=agents,second=exchange"
    yield f"resonant:unit={pick(64, 3000)},nodes={pick(2, 6)},scheme=timed,delay_s=0.0001"
    yield f"resonant:unit={pick(64, 900)},nodes={pick(1, 4)},scheme=agents,per_node=2,buffer={pick(64, 30000)}"
    yield f"resonant:unit={pick(64, 900)},nodes={pick(1, 4)},scheme=agents,per_node={pick(2, 5)},second=exchange"


def movement(table, call, data, gap, writes):
    """A call whose memory has `gap` bytes after every piece."""
    part = call_of(table, call)
    places = np.cumsum(part.lengths + gap) - part.lengths - gap
    memory = np.full(int((part.lengths + gap).sum()), 0xA5, dtype=np.uint8)
    if writes:
        for at, offset, length in zip(places, part.offsets, part.lengths):
            memory[at : at + length] = data[offset : offset + length]
    return Movement(part.offsets, places, part.lengths, memory, writes)


def write_natively(table, call, data):
    """The library's own collective call through a view of this rank's extents."""
    part = call_of(table, call)
    order = np.argsort(part.offsets, kind="stable")
    offsets, lengths = part.offsets[order], part.lengths[order]
    view = MPI.BYTE.Create_hindexed([int(one) for one in lengths], [int(one) for one in offsets]).Commit()
    handle.Set_view(0, MPI.BYTE, view)
    pieces = [data[offset : offset + length] for offset, length in zip(offsets, lengths)]
    handle.Write_all(np.concatenate([np.empty(0, dtype=np.uint8), *pieces]))
    handle.Set_view(0, MPI.BYTE, MPI.BYTE)
    view.Free()


def start_anew(end):
    handle.Set_size(0)
    if me == 0:
        handle.Write_at(0, np.full(end, 0xEE, dtype=np.uint8))
    comm.Barrier()


def look():
    comm.Barrier()
    return np.fromfile(path, dtype=np.uint8) if me == 0 else np.empty(0, dtype=np.uint8)


path = directory / "data"
handle = MPI.File.Open(comm, str(path), MPI.MODE_CREATE | MPI.MODE_RDWR)
bad, ran = [], 0
natively = 0
# turn by turn every layout meets the next strategy: after as many turns as there are strategies it has met them all
for number in range(turns):
    for place, layout in enumerate(layouts()):
        known = list(strategies())
        text = known[(number + place) % len(known)]
        turns_by_list = (number + place) % 3 > 0
        tables = [layout.at(n).calls(rank, n) for rank in range(n)]
        end, gap = max(table.end for table in tables), pick(0, 2) * 3
        wanted = dice.integers(1, 255, end, dtype=np.uint8)
        touched = np.zeros(end, dtype=bool)
        for table in tables:
            for offset, length in zip(table.offsets, table.lengths):
                touched[offset : offset + length] = True
        start_anew(end)
        for call in range(tables[me].call_count):
            write_natively(tables[me], call, wanted)
        native = look()
        natively += 1
        start_anew(end)
        site = Site(comm, MpiFile(handle, str(path) if turns_by_list else None))
        strategy = make_strategy(parse_strategy(text))
        for call in range(tables[me].call_count):
            strategy.carry_out(site, movement(tables[me], call, wanted, gap, True))
        site.file.settle()
        image = look()
        fine = me != 0 or (image.size == end and bool((image == np.where(touched, wanted, 0xEE)).all()))
        fine = fine and bool(np.array_equal(image, native))
        for call in range(tables[me].call_count):
            expected, got = movement(tables[me], call, wanted, gap, True), movement(tables[me], call, wanted, gap, False)
            strategy.carry_out(site, got)
            fine = fine and bool((expected.memory == got.memory).all())
        site.file.settle()
        ran += 1
        if not comm.allreduce(fine and not site.errors, op=MPI.LAND):
            bad.append(f"{layout} {text} gap {gap}: {[str(error) for error in site.errors][:2]}")
handle.Close()
if me == 0:
    path.unlink()
    print(json.dumps({"rank": 0, "ran": ran, "natively": natively, "strategies": len(list(strategies())), "layouts": len(list(layouts())), "bad": bad[:10]}))
