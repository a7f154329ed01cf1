"""Runs of the model: one program, a sweep over segments, interference, scaling, locks (SIM-08, SIM-15)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from pytest_pario.errors import ParameterError
from pytest_pario.patterns.scattered import Scattered
from pytest_pario.patterns.strided import Strided
from pytest_pario.schemes.prefetch import FilePrefetcher
from pytest_pario.schemes.resonance import SEGMENTS_PER_CALL
from pytest_pario.simulate.engine import Engine, Process
from pytest_pario.simulate.guided import guided
from pytest_pario.simulate.partitioned import PartitionedFile
from pytest_pario.simulate.programs import Program, start
from pytest_pario.simulate.storage import Storage
from pytest_pario.units import GiB, KiB, MiB

SEGMENTS = tuple(size * KiB for size in (32, 64, 128, 256, 512, 1024))
SEEDS = (1, 2, 3)
ELSEWHERE = 1 << 40
"""Where on each disk a second file lies."""
MAX_PRE, FILE_LIMIT = 8, 32
"""Ranges that a process may have asked for ahead, and that a file may have at once."""
RANGE_BLOCKS = 100
"""Blocks of each process in the access-range benchmark (GPFS-25)."""


@dataclass(frozen=True)
class Result:
    """What a program achieved, and what it cost the nodes."""

    seconds: float
    moved_bytes: int
    discontinuities: int
    """Of all nodes and programs together."""
    revocations: int = 0
    restarts: int = 0
    """How often a partitioning began anew."""

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.moved_bytes / self.seconds if self.seconds else 0.0


def run(program: Program, scheme: str, storage: Storage, seed: int = 1) -> Result:
    """One program alone."""
    return _run(start(program, scheme, storage), storage, seed)


def _run(processes: Sequence[Process], storage: Storage, seed: int) -> Result:
    engine = Engine(storage, seed)
    for process in processes:
        engine.add(process)
    seconds = engine.run()
    return Result(
        seconds,
        sum(node.moved_bytes for node in engine.nodes),
        sum(node.discontinuities for node in engine.nodes),
        sum(node.revocations for node in engine.nodes),
    )


def seed_rates(program: Program, scheme: str, storage: Storage, seeds: Sequence[int] = SEEDS) -> tuple[float, ...]:
    """Bytes per second of each seed."""
    if not seeds:
        raise ParameterError("seeds", seeds, "one or more", "simulation")
    return tuple(run(program, scheme, storage, seed).rate for seed in seeds)


def mean_rate(program: Program, scheme: str, storage: Storage, seeds: Sequence[int] = SEEDS) -> float:
    """Bytes per second, averaged over seeds."""
    return fmean(seed_rates(program, scheme, storage, seeds))


def demonstration(n: int, segment: int, total_bytes: int = 64 * MiB) -> Program:
    """N processes read four segments each per call (RES-04)."""
    return Program(Strided(segment, per_call=SEGMENTS_PER_CALL), n, total_bytes)


def sweep(
    n: int,
    scheme: str,
    storage: Storage,
    segments: Sequence[int] = SEGMENTS,
    *,
    seeds: Sequence[int] = SEEDS,
    total_bytes: int = 64 * MiB,
) -> dict[int, float]:
    """Rate of the demonstration program for each segment size."""
    return {size: mean_rate(demonstration(n, size, total_bytes), scheme, storage, seeds) for size in segments}


Rates = dict[int, tuple[float, ...]]
"""By segment size, the rate of each seed."""


def resonance_seeds(
    storage: Storage,
    processes: Sequence[int] = (4, 2),
    segments: Sequence[int] = SEGMENTS,
    schemes: Sequence[str] = ("independent", "collective", "resonant"),
    *,
    seeds: Sequence[int] = SEEDS,
    total_bytes: int = 64 * MiB,
) -> dict[tuple[str, int], Rates]:
    """All sweeps: by scheme and number of processes, the rates of each segment size (SIM-08)."""
    return {
        (scheme, n): {
            size: seed_rates(demonstration(n, size, total_bytes), scheme, storage, seeds) for size in segments
        }
        for scheme in schemes
        for n in processes
    }


def resonance_table(storage: Storage, seeds: Sequence[int] = SEEDS) -> dict[tuple[str, int], dict[int, float]]:
    """The published table: mean rates over the seeds."""
    return mean_table(resonance_seeds(storage, seeds=seeds))


def mean_table(found: Mapping[tuple[str, int], Rates]) -> dict[tuple[str, int], dict[int, float]]:
    """Means over the seeds."""
    return {key: {size: fmean(rates) for size, rates in row.items()} for key, row in found.items()}


@dataclass(frozen=True)
class Interference:
    """Rates of two programs that share the nodes, alone and together (RES-38)."""

    compute_s: float
    alone: float
    together: float
    other_alone: float
    other_together: float

    @property
    def relative(self) -> float:
        """Rate with the other program over the rate without."""
        return self.together / self.alone


def interfere(
    scheme: str, compute_s: float, storage: Storage, seed: int = 1, total_bytes: int = 256 * MiB
) -> Interference:
    """The demonstration program (4 processes, 64 KiB) beside mpi-io-test on another file of the same nodes.

    The other program computes between its calls, which are independent, so that it is the same trouble for every
    scheme; it goes on as long as the first one runs, and alone it gets as long.
    """
    first = demonstration(4, 64 * KiB, total_bytes)
    other = Program(Strided(64 * KiB), 4, 64 * GiB, compute_s=compute_s, base=ELSEWHERE)
    engine = Engine(storage, seed)
    watched = {engine.add(process) for process in start(first, scheme, storage, "first")}
    moved = _count_bytes(engine, start(other, "independent", storage))
    seconds = engine.run(watched)
    undisturbed = Engine(storage, seed)
    moved_alone = _count_bytes(undisturbed, start(other, "independent", storage))
    undisturbed.run(limit_s=seconds)
    alone = run(first, scheme, storage, seed).rate
    return Interference(
        compute_s,
        alone,
        first.total_bytes / seconds,
        sum(moved_alone.values()) / seconds,
        sum(moved.values()) / seconds,
    )


def scaling(
    scheme: str,
    processes: Sequence[int],
    storage: Storage,
    segment: int = MiB,
    *,
    seed: int = 1,
    each_bytes: int = 4 * MiB,
) -> dict[int, float]:
    """mpi-io-test on more and more processes: rate relative to one of them (RES-40)."""
    rates = {n: run(Program(Strided(segment), n, n * each_bytes), scheme, storage, seed).rate for n in {1, *processes}}
    return {n: rates[n] / rates[1] for n in processes}


def contention(scheme: str, record: int, storage: Storage, n: int = 4, seed: int = 1) -> Result:
    """Interleaved small writes to shared blocks: every lock token goes back and forth unless an agent keeps it."""
    return run(_contending(record, storage, n), scheme, storage, seed)


def repartition(record: int, buffer: int, storage: Storage, n: int = 4, seed: int = 1) -> Result:
    """The same writes to a partitioned file twice, the second time with another IBM_io_buffer_size (GPFS-41)."""
    file = PartitionedFile(_contending(record, storage, n), storage, (buffer,))
    found = _run(file.processes(), storage, seed)
    return dataclasses.replace(found, restarts=file.directives.restarts)


def _contending(record: int, storage: Storage, n: int) -> Program:
    if not storage.lock_unit:
        raise ParameterError("storage.lock_unit", 0, "positive: without locks there is no contention", "simulation")
    return Program(Strided(record, per_call=SEGMENTS_PER_CALL), n, 8 * MiB, writes=True)


def guidance(
    max_acc: int, storage: Storage, n: int, *, max_pre: int = MAX_PRE, limit: int = FILE_LIMIT, seed: int = 1
) -> Result:
    """The access-range benchmark: two sub-blocks of each of many scattered blocks, with the hint or without (GPFS-24).

    A block is a striping unit; what is read of it is the range that covers its sub-blocks.
    """
    if n < 1:
        raise ParameterError("processes", n, "1 or more", "simulation")
    sub = storage.unit // 16
    layout = Scattered(storage.unit, RANGE_BLOCKS * n, seed=seed, sub=(2, sub))
    program = Program(layout, n, layout.dealt * 2 * sub)
    return _run(guided(program, storage, FilePrefetcher(limit, max_pre), max_pre, max_acc), storage, seed)


def _count_bytes(engine: Engine, processes: Sequence[Process]) -> dict[int, int]:
    """Add processes to a run; the bytes that each has got so far are in what is returned."""
    moved: dict[int, int] = {}

    def counting(number: int, process: Process) -> Process:
        for step in process:
            yield step
            if step[0] == "move":
                moved[number] = moved.get(number, 0) + sum(size for _, _, size in step[1])

    for number, process in enumerate(processes):
        engine.add(counting(number, process))
    return moved
