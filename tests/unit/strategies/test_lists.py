"""Lists of runs by one request: their length, their bytes, and where the library is not asked for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_pario import mpi
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.schemes.ranges import NONE
from pytest_pario.schemes.settings import parse_strategy
from pytest_pario.strategies.catalogue import make_strategy
from pytest_pario.strategies.files import MpiFile
from pytest_pario.strategies.own import read_runs, write_runs
from pytest_pario.strategies.protocol import Movement, Site
from pytest_pario.strategies.runs import SHORT_GAP, SIEVE_GAP, Runs, sieve_gap
from tests.unit.strategies.threads import Comm, MemoryFile, World, run_threads

needs_mpi = pytest.mark.skipif(mpi.unavailable_reason() is not None, reason="no MPI library")


def runs_of(begins: list[int], sizes: list[int]) -> Runs:
    lengths = np.array(sizes, dtype=np.int64)
    places = np.cumsum(lengths) - lengths
    return Runs(np.array(begins, dtype=np.int64), lengths, places, np.zeros_like(lengths), NONE)


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 7), st.integers(1, 99))
def test_lists_are_all_runs_in_order_and_bounded(sizes: list[int], most_runs: int, most_bytes: int) -> None:
    runs = runs_of([100 * number for number in range(len(sizes))], sizes)
    parts = list(runs.lists(most_runs, most_bytes))
    for name in ("begins", "sizes", "places"):
        joined = np.concatenate([NONE, *(getattr(part, name) for part in parts)])
        assert joined.tolist() == getattr(runs, name).tolist()
    assert all(0 < part.begins.size <= most_runs for part in parts)
    assert all(part.total_bytes <= most_bytes or part.begins.size == 1 for part in parts)


def test_short_pieces_allow_longer_holes() -> None:
    assert sieve_gap(np.array([8, 8, 8])) == SHORT_GAP
    assert sieve_gap(np.array([8, 65536])) == SIEVE_GAP == sieve_gap(NONE)


@pytest.mark.parametrize("merge", ["true", "false"])
@pytest.mark.parametrize("how", ["agents", "agents,second=exchange", "timed"])
def test_lists_of_resonant_plans(how: str, merge: str) -> None:
    # RES-17, RES-25: at most 64 segments in a list, and every process has its bytes
    ranks, dice = 3, np.random.default_rng(5)
    image = (np.arange(5000) % 251).astype(np.uint8)
    lengths = dice.integers(1, 5, 900)
    offsets = np.cumsum(lengths + dice.integers(0, 2, 900)) - lengths
    wanted, longest = np.zeros_like(image), list[int]()
    for offset, length in zip(offsets, lengths, strict=True):
        wanted[offset : offset + length] = image[offset : offset + length]

    def one(comm: Comm) -> None:
        mine = np.full(5000, 0, dtype=np.uint8)
        made = make_strategy(parse_strategy(f"resonant:unit=7,nodes=2,scheme={how},merge={merge},delay_s=0.0001"))
        assert made is not None
        pieces = slice(comm.rank, None, ranks)
        for writes, target in ((False, image), (True, written)):
            file = MemoryFile(target, lists=True)
            site = Site(comm, file)  # type: ignore[arg-type]
            made.carry_out(site, Movement(offsets[pieces], offsets[pieces], lengths[pieces], mine, writes))
            assert site.errors == []
            comm.Barrier()
            longest.extend(file.asked)

    written = np.zeros_like(image)
    run_threads(ranks, one)
    assert (written == wanted).all()
    assert 1 < max(longest) <= 64


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tuple[Any, Path]]:
    codes, path = mpi.load(), tmp_path / "data"
    path.write_bytes(bytes(range(200)) * 100)
    handle = codes.File.Open(codes.COMM_SELF, str(path), codes.MODE_RDWR)
    yield handle, path
    handle.Close()


SCATTERED = runs_of([100, 1000, 3000, 3100, 5000, 9000, 9200, 15000, 19990], [5, 40, 100, 1, 7, 8, 9, 300, 10])


class Counting(MpiFile):
    """Knows how often it was asked for one range."""

    calls = 0

    def _move(self, call: Any, offset: int, data: Bytes) -> int:
        self.calls += 1
        return super()._move(call, offset, data)


@needs_mpi
def test_a_list_moves_its_runs_and_nothing_else(opened: tuple[Any, Path]) -> None:  # MODEL-08
    handle, path = opened
    file = Counting(handle, str(path))
    site: Any = Site(Comm(World(1), 0), file)  # type: ignore[arg-type]
    data, wanted = np.arange(SCATTERED.total_bytes).astype(np.uint8), np.fromfile(path, dtype=np.uint8)
    for begin, size, place in zip(SCATTERED.begins, SCATTERED.sizes, SCATTERED.places, strict=True):
        wanted[begin : begin + size] = data[place : place + size]
    write_runs(site, SCATTERED, data)
    assert (np.fromfile(path, dtype=np.uint8) == wanted).all()
    back = np.zeros_like(data)
    read_runs(site, SCATTERED, back, complete=True)
    assert (back == data).all()
    # of a buffer that has other runs, too
    some = SCATTERED.some(np.arange(9) != 3)
    back[:] = 0
    read_runs(site, some, back, complete=True)
    assert np.flatnonzero(back != data).tolist() == [145]
    # a handle that was given back is there again when it is needed
    file.settle()
    write_runs(site, SCATTERED, data)
    file.settle()
    assert site.errors == []
    assert file.calls == 0


@needs_mpi
def test_a_list_waits_for_the_one_before(opened: tuple[Any, Path]) -> None:
    handle, path = opened
    file = MpiFile(handle, str(path))
    first, other = SCATTERED.some(slice(0, 3)), SCATTERED.some(slice(3, 9))
    out = np.zeros(SCATTERED.total_bytes, dtype=np.uint8)
    pending = [file.start_list(part, out, writes=False) for part in (first, other)]
    assert [one.wait() for one in pending if one is not None] == [145, 335]
    assert [one.wait() for one in pending if one is not None] == [145, 335]
    file.settle()


@needs_mpi
def test_a_file_that_ends_within_a_list_is_told(opened: tuple[Any, Path]) -> None:
    handle, path = opened
    with path.open("r+b") as shorter:
        shorter.truncate(15100)
    site: Any = Site(Comm(World(1), 0), MpiFile(handle, str(path)))  # type: ignore[arg-type]
    out = np.full(SCATTERED.total_bytes, 9, dtype=np.uint8)
    read_runs(site, SCATTERED, out, complete=True)
    assert ["15000" in str(error) or "19990" in str(error) for error in site.errors] == [True, True]
    read_runs(site, SCATTERED, out, complete=False)
    assert out[-210:].tolist() == [0] * 210
    assert len(site.errors) == 2
    site.file.settle()


@needs_mpi
def test_no_list_where_it_could_be_wrong(opened: tuple[Any, Path], tmp_path: Path) -> None:
    handle, path = opened
    codes, out = mpi.load(), np.zeros(SCATTERED.total_bytes, dtype=np.uint8)
    assert MpiFile(handle).start_list(SCATTERED, out, writes=False) is None
    handle.Set_atomicity(True)
    assert MpiFile(handle, str(path)).start_list(SCATTERED, out, writes=True) is None
    alone = codes.File.Open(codes.COMM_SELF, str(path), codes.MODE_RDWR | codes.MODE_UNIQUE_OPEN)
    assert MpiFile(alone, str(path)).start_list(SCATTERED, out, writes=True) is None
    alone.Close()
