"""The partitioning of a file among its tasks by directives: start, map, stop (GPFS-41).

A hint may be ignored; a directive takes effect or returns an error. While a file is partitioned nobody takes locks on
it, and while somebody holds a lock it cannot be partitioned.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pytest_pario.errors import DirectiveError, ParameterError
from pytest_pario.schemes.partition import PartitionMap, default_map

Mode = Literal["locking", "starting", "partitioned", "stopping"]


def partitioning_wanted(unique_open: bool, largeblock_io: str | None) -> bool:
    """Whether a file is partitioned: opened by this program alone, and data shipping not switched off."""
    return unique_open and largeblock_io in (None, "false")


@dataclass
class Partitioning:
    """The state of one open file and what each of its tasks may do next."""

    unit: int
    """Bytes of a block."""
    mode: Mode = "locking"
    tasks: int = 0
    """Tasks that the partitioning is of; set by the first start."""
    map: PartitionMap | None = None
    """Who serves which block; there while the file is partitioned."""
    restarts: int = 0
    """How often the partitioning was begun anew because the buffer size changed."""
    unstopped: list[int] = field(default_factory=list)
    """Tasks that closed the file without a stop, for which one was issued: discouraged."""
    _started: set[int] = field(default_factory=set)
    _stopped: set[int] = field(default_factory=set)
    _locks: dict[int, int] = field(default_factory=dict)

    def start(self, task: int, tasks: int) -> None:
        """Take part in the partitioning among `tasks` tasks; it begins when all have started."""
        if tasks < 1 or not 0 <= task < tasks:
            raise ParameterError("start", (task, tasks), "a task below the number of tasks", "directive")
        if self.mode in ("partitioned", "stopping"):
            raise DirectiveError(f"task {task} starts a partitioning that is already {self.mode}")
        if self._locks:
            raise DirectiveError(f"task {task} starts a partitioning while tasks {sorted(self._locks)} hold locks")
        if self._started and tasks != self.tasks:
            raise DirectiveError(f"task {task} starts with {tasks} tasks, others with {self.tasks}")
        if task in self._started:
            raise DirectiveError(f"task {task} starts twice")
        self.tasks, self.mode = tasks, "starting"
        self._started.add(task)
        if len(self._started) == tasks:
            self.mode, self.map = "partitioned", default_map(self.unit, tasks)

    def set_map(self, task: int, run: int, servers: tuple[int, ...]) -> None:
        """Give the map in place of the default one, block i to task i mod n."""
        self._require_member(task, "map")
        if max(servers, default=-1) >= self.tasks:
            raise ParameterError("map.servers", servers, f"tasks 0 to {self.tasks - 1}", "directive")
        self.map = PartitionMap(self.unit, servers, run)

    def stop(self, task: int) -> None:
        """Leave the partitioning; it ends when all tasks have."""
        self._require_member(task, "stop")
        self._stopped.add(task)
        self.mode = "stopping"
        if self._stopped == self._started:
            self.mode, self.map, self.tasks = "locking", None, 0
            self._started.clear()
            self._stopped.clear()

    def close(self, task: int) -> None:
        """Close the file; where the task did not stop, a stop is issued for it."""
        if task in self._started and task not in self._stopped:
            self.unstopped.append(task)
            if self.mode == "starting":
                self._started.discard(task)
                self.mode = "starting" if self._started else "locking"
            else:
                self.stop(task)
        self._locks.pop(task, None)

    def lock(self, task: int) -> None:
        """Take a lock on the file."""
        if self.mode != "locking":
            raise DirectiveError(f"task {task} locks a {self.mode} file: locks and partitions exclude each other")
        self._locks[task] = self._locks.get(task, 0) + 1

    def unlock(self, task: int) -> None:
        """Give a lock back."""
        if task not in self._locks:
            raise DirectiveError(f"task {task} gives back a lock that it does not hold")
        self._locks[task] -= 1
        if not self._locks[task]:
            del self._locks[task]

    def restart(self, unit: int) -> None:
        """Begin anew with blocks of another size, for the buffer size has changed."""
        if self.mode != "partitioned":
            raise DirectiveError(f"a partitioning that is {self.mode} cannot be restarted")
        self.unit, self.map = unit, default_map(unit, self.tasks)
        self.restarts += 1

    def resize(self, unit: int) -> None:
        """The buffer size has changed: a partitioning begins anew, and one that is to come takes the new blocks."""
        if self.mode in ("locking", "starting"):
            self.unit = unit
        else:
            self.restart(unit)

    def _require_member(self, task: int, directive: str) -> None:
        if self.mode not in ("partitioned", "stopping") or task not in self._started or task in self._stopped:
            raise DirectiveError(f"task {task} cannot {directive}: the file is {self.mode}, and it takes no part")
