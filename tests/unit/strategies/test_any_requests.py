"""Any requests under any strategy give the bytes of plain calls; ranks are threads, the file is in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_pario.model import Int64
from pytest_pario.schemes.settings import StrategySettings
from pytest_pario.strategies.catalogue import make_strategy
from pytest_pario.strategies.protocol import Movement, Site
from tests.unit.strategies.threads import Comm, MemoryFile, run_threads

owners = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 40)), min_size=1, max_size=40)
"""Who has the next piece of the file, and how long it is; rank 5 stands for nobody."""
# fmt: off
members = st.one_of(
    st.builds(StrategySettings, st.just("two_phase"), agents=st.none() | st.integers(1, 5), buffer=st.integers(1, 99)),
    st.builds(StrategySettings, st.just("data_shipping"), agents=st.none() | st.integers(1, 5),
              block=st.integers(1, 50), stripe=st.integers(1, 120), max_pre=st.sampled_from([0, 1, 3])),
    st.builds(StrategySettings, st.just("resonant"), unit=st.integers(1, 60), nodes=st.integers(1, 9),
              scheme=st.sampled_from(["auto", "agents", "timed"]), second=st.sampled_from(["direct", "exchange"]),
              per_node=st.integers(1, 3), buffer=st.integers(1, 300), merge=st.booleans(), delay_s=st.just(0.0)),
)
# fmt: on


def requests_of(pieces: list[tuple[int, int]], ranks: int) -> list[tuple[Int64, Int64]]:
    """Pieces of each rank; those of numbers beyond the ranks are holes, and some ranks may have nothing."""
    ends = np.cumsum([length for _, length in pieces])
    found = []
    for rank in range(ranks):
        mine = [(end - length, length) for end, (who, length) in zip(ends.tolist(), pieces, strict=True) if who == rank]
        offsets, lengths = np.array(mine, dtype=np.int64).reshape(-1, 2).T
        found.append((offsets.copy(), lengths.copy()))
    return found


def content(offsets: Int64, lengths: Int64) -> Any:
    parts = [np.arange(o, o + s) % 200 + 1 for o, s in zip(offsets.tolist(), lengths.tolist(), strict=True)]
    return np.concatenate([np.empty(0), *parts]).astype(np.uint8)


@settings(max_examples=150, deadline=None)
@given(owners, st.integers(1, 5), members)
def test_bytes_are_those_of_plain_calls(pieces: list[tuple[int, int]], ranks: int, member: StrategySettings) -> None:
    # RES-25, GPFS-37: also with ranks that have nothing, with more nodes than ranks and fewer
    requests = requests_of(pieces, ranks)
    image, wanted = np.full(2000, 0xEE, dtype=np.uint8), np.full(2000, 0xEE, dtype=np.uint8)
    for offsets, lengths in requests:
        for offset, length in zip(offsets.tolist(), lengths.tolist(), strict=True):
            wanted[offset : offset + length] = np.arange(offset, offset + length) % 200 + 1

    def one(comm: Comm) -> None:
        strategy, site = make_strategy(member), Site(comm, MemoryFile(image))  # type: ignore[arg-type]
        assert strategy is not None
        offsets, lengths = requests[comm.rank]
        data, places = content(offsets, lengths), np.cumsum(lengths) - lengths
        strategy.carry_out(site, Movement(offsets, places, lengths, data, True))
        comm.Barrier()
        assert (image == wanted).all()
        back = np.zeros_like(data)
        strategy.carry_out(site, Movement(offsets, places, lengths, back, False))
        assert (back == data).all()
        assert site.errors == []

    run_threads(ranks, one)


@settings(max_examples=60, deadline=None)
@given(owners, st.integers(2, 5), members, st.booleans())
def test_one_broken_rank_hangs_nobody(
    pieces: list[tuple[int, int]], ranks: int, member: StrategySettings, writes: bool
) -> None:  # GPFS-46, GPFS-49
    requests, image = requests_of(pieces, ranks), np.full(2000, 0xEE, dtype=np.uint8)

    def one(comm: Comm) -> None:
        site = Site(comm, MemoryFile(image, broken=comm.rank == ranks - 1))  # type: ignore[arg-type]
        strategy = make_strategy(member)
        assert strategy is not None
        offsets, lengths = requests[comm.rank]
        data, places = content(offsets, lengths), np.cumsum(lengths) - lengths
        for _ in range(2):
            strategy.carry_out(site, Movement(offsets, places, lengths, data.copy(), writes))
        comm.Barrier()
        assert comm.rank == ranks - 1 or site.errors == []

    run_threads(ranks, one)
    # nothing outside of the requests was touched, whatever failed
    touched = np.zeros(2000, dtype=bool)
    for offsets, lengths in requests:
        for offset, length in zip(offsets.tolist(), lengths.tolist(), strict=True):
            touched[offset : offset + length] = True
    assert (image[~touched] == 0xEE).all()
