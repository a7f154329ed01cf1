"""Partitioned files and guided prefetch on modelled storage: what the mechanisms of MPI-IO/GPFS do to it."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_pario.errors import ParameterError, SimulationError
from pytest_pario.patterns import Strided
from pytest_pario.simulate.engine import Engine
from pytest_pario.simulate.experiments import contention, guidance, repartition, run
from pytest_pario.simulate.partitioned import PartitionedFile
from pytest_pario.simulate.programs import Program
from pytest_pario.simulate.storage import Storage
from pytest_pario.units import KiB, MiB

STORAGE = Storage()
LOCKED = dataclasses.replace(STORAGE, lock_unit=64 * KiB)
COARSE = dataclasses.replace(STORAGE, lock_unit=256 * KiB)
QUIET = dataclasses.replace(STORAGE, jitter_s=0.0)


def test_a_partitioned_file_passes_no_tokens() -> None:  # GPFS-40, GPFS-41
    apart, parted = (contention(scheme, 4 * KiB, LOCKED) for scheme in ("independent", "partitioned"))
    assert (apart.revocations > 500, parted.revocations) == (True, 0)
    assert (parted.moved_bytes, parted.discontinuities) == (apart.moved_bytes, apart.discontinuities)
    assert parted.rate > 1.2 * apart.rate


def test_a_lock_over_blocks_of_several_servers_goes_back_and_forth() -> None:  # GPFS-40
    program = Program(Strided(4 * KiB, per_call=4), 3, 2 * MiB, writes=True, stripe=64 * KiB)
    assert run(program, "partitioned", COARSE).revocations > 20
    assert run(program, "partitioned", LOCKED).revocations == 0
    assert run(program, "partitioned", COARSE, 7) == run(program, "partitioned", COARSE, 7)
    read = dataclasses.replace(program, writes=False)
    assert run(read, "partitioned", STORAGE).moved_bytes == run(read, "independent", STORAGE).moved_bytes


def test_a_partitioning_begun_anew_costs_a_token_for_each_block_of_another_server() -> None:  # GPFS-41
    found = repartition(4 * KiB, 512 * KiB, LOCKED)
    # 128 blocks of 64 KiB, by 16 and then by 8 of them to each of four servers in turn
    moved = sum(block // 16 % 4 != block // 8 % 4 for block in range(128))
    assert (found.restarts, found.revocations, found.moved_bytes) == (1, moved, 16 * MiB)
    same = repartition(4 * KiB, 1 * MiB, LOCKED)
    assert (same.restarts, same.revocations) == (0, 0)


def test_a_partitioning_is_started_and_stopped() -> None:  # GPFS-41
    program = Program(Strided(4 * KiB), 3, 1 * MiB, writes=True)
    file, engine = PartitionedFile(program, STORAGE), Engine(STORAGE)
    for process in file.processes():
        engine.add(process)
    engine.run()
    assert (str(file.directives.mode), file.directives.unstopped, file.mode.pending) == ("locking", [], 0)
    with pytest.raises(SimulationError, match="locking, not partitioned"):
        next(file._serve(0, next(program.calls_of(0))))


def test_guided_prefetch() -> None:  # GPFS-42, GPFS-28
    plain, hinted = (guidance(acc, STORAGE, 1) for acc in (0, 1))
    assert hinted.moved_bytes == plain.moved_bytes  # nothing is read twice, nothing left out
    assert plain.seconds > 3 * hinted.seconds
    assert guidance(8, STORAGE, 1).seconds > hinted.seconds  # small max_acc is best
    assert guidance(1, STORAGE, 4) == guidance(1, STORAGE, 4)
    # what is never granted is read as without the hint; a file has one limit for all its tasks
    assert guidance(1, STORAGE, 1, limit=0).seconds == plain.seconds
    assert guidance(1, STORAGE, 8, limit=8).seconds > guidance(1, STORAGE, 8, limit=64).seconds
    with pytest.raises(ParameterError, match="processes = 0"):
        guidance(1, STORAGE, 0)


@pytest.mark.parametrize("pause_s", [0.0, 1.0])
def test_what_was_asked_for_ahead_is_waited_for_or_there(pause_s: float) -> None:  # GPFS-42
    place = [(0, 1 << 20, QUIET.unit)]
    engine = Engine(QUIET)
    engine.add(iter([("prefetch", place), ("wait", pause_s), ("move", place, False)]))
    # late: o/2, the disk, the link, o/2; early: o/2 after the pause, the link, o/2
    read_s = 0.0 if pause_s else QUIET.seek_s + QUIET.unit / QUIET.disk_rate
    assert engine.run() == pytest.approx(pause_s + read_s + QUIET.overhead_s + QUIET.unit / QUIET.link_rate)
    assert (engine.nodes[0].ahead, engine.nodes[0].moved_bytes) == ({}, QUIET.unit)


def test_what_is_asked_for_twice_is_read_ahead_once() -> None:  # GPFS-42
    place = [(0, 1 << 20, QUIET.unit)]
    engine = Engine(QUIET)
    engine.add(iter([("prefetch", place), ("prefetch", place), ("wait", 1.0), ("move", place, False)]))
    engine.add(iter([("wait", 2.0), ("move", place, False)]))
    engine.run()
    # who comes after it was accessed finds it gone
    assert engine.nodes[0].moved_bytes == 2 * QUIET.unit
