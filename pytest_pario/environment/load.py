"""Who else used this node while a measurement ran.

Kernel threads that write back our data and daemons of the filesystem count as others: their work is not ours to tell.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_pario import mpi
from pytest_pario.environment.fingerprint import Told

if TYPE_CHECKING:
    from mpi4py import MPI

STAT = "/proc/stat"
OTHERS_LIMIT = 0.10
STEAL_LIMIT = 0.05
"""Above these parts of the node's processor time a run is called polluted."""
SHORTEST_S = 0.2
"""The counters move in steps of 10 ms on each processor: of less time than this they do not tell enough."""


@dataclass(frozen=True)
class Load:
    """Processor time of a node over an interval, in seconds summed over its processors."""

    elapsed_s: float
    cpus: int
    busy_s: float
    """Everything but idle, waiting for I/O, and stolen."""
    steal_s: float
    own_s: float
    """Of this process and its children; or of all ranks of the node, once `with_own` has told it."""
    load_average: float

    def with_own(self, own_s: float) -> Load:
        """The same interval with the processor time of all ranks of this node, summed by the caller."""
        return Load(self.elapsed_s, self.cpus, self.busy_s, self.steal_s, own_s, self.load_average)

    @property
    def other_share(self) -> float:
        """Part of the node's processor time that others took, 0 to 1."""
        return self._share(self.busy_s - self.own_s)

    @property
    def steal_share(self) -> float:
        """Part of the processor time that the hypervisor gave to other machines, 0 to 1."""
        return self._share(self.steal_s)

    @property
    def polluted(self) -> bool:
        """Whether others were seen to use so much that the numbers suffer."""
        told = self.elapsed_s >= SHORTEST_S
        return told and (self.other_share > OTHERS_LIMIT or self.steal_share > STEAL_LIMIT)

    def facts(self) -> dict[str, Told]:
        """The facts of the group `load`."""
        return {
            "load_average": Told(round(self.load_average, 2), "/proc/loadavg"),
            "other_cpu_share": Told(round(self.other_share, 4), STAT),
            "steal_share": Told(round(self.steal_share, 4), STAT),
            "polluted": Told(self.polluted, STAT),
        }

    def _share(self, seconds: float) -> float:
        # the node offers elapsed * cpus seconds
        offered_s = self.elapsed_s * self.cpus
        return min(max(seconds / offered_s, 0.0), 1.0) if offered_s > 0 else 0.0


class LoadMeter:
    """Reads the node's counters at start and stop; costs two reads of /proc and nothing in between."""

    def __init__(
        self,
        read: Callable[[], str] = lambda: Path(STAT).read_text(),
        clock: Callable[[], float] = time.monotonic,
        own: Callable[[], float] = lambda: sum(os.times()[:4]),
    ) -> None:
        """Tests replace the three readings."""
        self._read, self._clock, self._own = read, clock, own
        self._begin: tuple[float, float, float, float] | None = None

    def start(self) -> LoadMeter:
        """Begin an interval."""
        self._begin = self._reading()
        return self

    def stop(self) -> Load | None:
        """The load since `start`, which may be asked again later; None where there is no /proc/stat or no start."""
        end = self._reading()
        if self._begin is None or end is None:
            return None
        elapsed_s, busy_s, steal_s, own_s = (after - before for before, after in zip(self._begin, end, strict=True))
        return Load(elapsed_s, os.cpu_count() or 1, busy_s, steal_s, own_s, _load_average())

    def _reading(self) -> tuple[float, float, float, float] | None:
        try:
            busy_s, steal_s = parse_stat(self._read())
        except (OSError, ValueError):
            return None
        return self._clock(), busy_s, steal_s, self._own()


class HostsLoad:
    """The load of all hosts of a job: each rank knows its own time, the first rank of a host reads its counters."""

    def __init__(self, comm: MPI.Intracomm, meter: LoadMeter | None = None) -> None:
        """Begin an interval."""
        self._comm = comm
        self._meter = (meter or LoadMeter()).start()

    def stop(self) -> dict[str, object] | None:
        """What each host's load was, and the worst of all, the same on every rank; None where no host can tell.

        Collective. The hosts' communicators are made here, so that an interval that never ends leaves none behind.
        """
        load = self._meter.stop()
        host = self._comm.Split_type(mpi.load().COMM_TYPE_SHARED)
        own_s = host.allreduce(load.own_s if load else 0.0)
        first = load is not None and host.rank == 0
        host.Free()
        mine = (mpi.load().Get_processor_name(), load.with_own(own_s)) if first and load else None
        told = [one for one in self._comm.allgather(mine) if one is not None]
        return worst_of(dict(told)) if told else None


def worst_of(loads: dict[str, Load]) -> dict[str, object]:
    """The facts of each host, and the largest of each: one host that others use slows all ranks."""
    hosts = {host: {name: told.value for name, told in load.facts().items()} for host, load in loads.items()}
    return {
        "load_average": round(max(load.load_average for load in loads.values()), 2),
        "other_cpu_share": round(max(load.other_share for load in loads.values()), 4),
        "steal_share": round(max(load.steal_share for load in loads.values()), 4),
        "polluted": any(load.polluted for load in loads.values()),
        "elapsed_s": round(max(load.elapsed_s for load in loads.values()), 3),
        "hosts": hosts,
    }


def parse_stat(text: str) -> tuple[float, float]:
    """Busy and stolen seconds of all processors since the start of the system, from /proc/stat."""
    # cpu  171560 0 145086 489287 629 0 180 446 0 0
    #      user nice system idle iowait irq softirq steal guest guest_nice; guest is part of user
    name, *counts = text.partition("\n")[0].split()
    if name != "cpu" or len(counts) < 4:
        raise ValueError(f"{STAT} begins with {name!r}")
    user, nice, system, _, _, irq, softirq, steal = (*map(int, counts[:8]), *[0] * (8 - len(counts)))
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) * tick_s, steal * tick_s


def _load_average() -> float:
    try:
        return os.getloadavg()[0]
    except OSError:
        return 0.0
