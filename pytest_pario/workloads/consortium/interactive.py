"""What a user does at a prompt: copy, list, stat, pack, unpack and remove, by UNIX programs (CONS-69, CONS-70).

    tree = Tree(files=100, size=4096, depth=2, large_size=8 * MiB)
    result = measure_operation(comm, directory, find_tool("copy-tree"), tree, repetitions=5)

The first process is the user; all others do I/O meanwhile, so that a run on one process is undisturbed and one on n
has n - 1 in the background. The time is from the start of the program to its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_pario.environment.load import HostsLoad
from pytest_pario.measure.rounds import RoundSamples
from pytest_pario.measure.spread import Statistics, describe
from pytest_pario.workloads.consortium.background import Bounds, Done, announce, disturb
from pytest_pario.workloads.consortium.phases import clock_ns, find_flags, settle
from pytest_pario.workloads.consortium.place import Place
from pytest_pario.workloads.consortium.room import require_room
from pytest_pario.workloads.consortium.tools import Tool, run_tool
from pytest_pario.workloads.consortium.tree import Tree

if TYPE_CHECKING:
    from mpi4py import MPI

LIMIT_S = 60.0
"""Seconds that one run of a program may take."""


@dataclass(frozen=True)
class Interaction:
    """Seconds of each repetition of an operation; equal on every process."""

    operation: str
    program: str
    seconds: tuple[float, ...]
    warmup_seconds: tuple[float, ...]
    background: tuple[Done, ...]
    """What each of the others did meanwhile."""
    flags: tuple[str, ...] = ()
    """What limits the validity of the numbers."""
    load: Mapping[str, object] | None = None
    """Who else used the hosts meanwhile; None where no host can tell."""

    @property
    def statistics(self) -> Statistics:
        """Least, mean, most and deviation of the seconds (CONS-70)."""
        return describe(self.seconds)

    @property
    def samples(self) -> RoundSamples:
        """As benchmarks keep them; how many bytes a program moves is its own business."""
        return RoundSamples(self.seconds, (0,) * len(self.seconds), self.warmup_seconds, 1 + len(self.background))

    def plain(self) -> dict[str, Any]:
        """What is kept beside the seconds."""
        return {
            "operation": self.operation,
            "flags": list(self.flags),
            "load": self.load,
            # programs know nothing of hints
            "hints_requested": {},
            "hints": {},
            "tool": self.program,
            "timed": ["start of the program to its end"],
            "combined": "each repetition kept",
            "between_rounds": self.statistics.plain(),
            "clients": 1 + len(self.background),
            "background_processes": len(self.background),
            "background_bytes": [one.moved_bytes for one in self.background],
            "background_s": [one.seconds for one in self.background],
        }


def measure_operation(
    comm: MPI.Intracomm,
    directory: Path,
    tool: Tool,
    tree: Tree,
    repetitions: int,
    *,
    warmup_rounds: int = 1,
    limit_s: float = LIMIT_S,
    bounds: Bounds = Bounds(),  # noqa: B008 - frozen
) -> Interaction:
    """Repeat an operation on the first process while the others do I/O; every repetition is verified. Collective."""
    place = Place(directory / "user", tree)
    user = comm.rank == 0

    def prepare() -> None:
        if user:
            require_room(directory, 3 * tree.files + 2 + comm.size, 0)
            require_room(directory, 1, 4 * tree.total_bytes + comm.size * bounds.file_bytes)
            place.root.mkdir()
            tree.plant(place.top, place.large)

    settle(comm, f"preparing {tool.operation}", prepare)
    seconds: list[float] = []
    done = Done(0, 0.0)

    def act() -> None:
        nonlocal done
        end = announce(comm) if not user else None
        if end is not None:
            done = disturb(end, directory / f"background.{comm.rank:05d}", comm.rank, bounds)
            return
        try:
            seconds.extend(_repeat(tool, place, warmup_rounds + repetitions, limit_s))
        finally:
            announce(comm).Wait()

    meter = HostsLoad(comm)
    settle(comm, tool.operation, act)
    load = meter.stop()
    seconds, others = comm.bcast(seconds, root=0), comm.allgather(done)
    warmups, kept = tuple(seconds[:warmup_rounds]), tuple(seconds[warmup_rounds:])
    flags = find_flags(comm, load)
    if any(one.ended_early for one in others[1:]):
        flags = (*flags, "background_ended")
    return Interaction(tool.operation, tool.program, kept, warmups, tuple(others[1:]), flags, load)


def _repeat(tool: Tool, place: Place, times: int, limit_s: float) -> list[float]:
    return [_one(tool, place, limit_s) for _ in range(times)]


def _one(tool: Tool, place: Place, limit_s: float) -> float:
    tool.prepare(place)
    begun = clock_ns()
    output = run_tool(tool, place, limit_s)
    elapsed_s = (clock_ns() - begun) / 1e9
    tool.check(tool.operation, place, output)
    return elapsed_s
