"""What a run of BTIO has come to; equal on every rank. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_pario.model import Samples
from pytest_pario.workloads.btio.classes import EPSILON, Five, ProblemClass

Mode = Literal["solved", "replay"]


@dataclass(frozen=True)
class Comparison:
    """Five norms beside the values that they must have."""

    name: str
    found: tuple[float, ...]
    expected: Five | None
    """None where no value has been published."""

    @property
    def deviation(self) -> float | None:
        """The largest relative deviation; infinite where a norm is not a number."""
        if self.expected is None:
            return None
        worst = [abs(one - ref) / abs(ref) for one, ref in zip(self.found, self.expected, strict=True)]
        return max(value if value == value else float("inf") for value in worst)  # noqa: PLR0124 - not a number

    @property
    def holds(self) -> bool:
        """Whether all five are within the tolerance; never where there is nothing to compare with."""
        return self.deviation is not None and self.deviation <= EPSILON

    def __str__(self) -> str:
        if self.expected is None:
            return f"{self.name}: no value has been published to compare with"
        return f"{self.name}: largest relative deviation {self.deviation:.1e}, at most {EPSILON:g} is allowed"


@dataclass(frozen=True)
class Beside:
    """What is known of output or read-back beside its samples."""

    aside_s: float
    """Longest time that a rank spent on what is not in the time: making, marking and voiding fields, and waiting for
    the others to have done so."""
    paused: bool
    """Whether that was so long that the storage may have worked on meanwhile (`PAUSED_SHARE`)."""
    rate: float
    """Bytes per second, summed over the ranks: each one's bytes by its own seconds, as NPB 3.4 has it (BT §7)."""
    skew_s: float = 0.0
    """How much longer the last rank was beside the clock than the first, over all fields. Where no barrier stands
    before a call, in output of solved fields, ranks may have waited so long for each other in collective calls."""


def summed_rate(told: Iterable[tuple[int, float]]) -> float:
    """Sum of bytes by seconds; a rank whose seconds are too few to be measured adds nothing."""
    return sum(moved / seconds for moved, seconds in told if seconds > 0)


@dataclass(frozen=True)
class BtioResult:
    """Seconds, bytes and norms of a run."""

    problem: ProblemClass
    subtype: str
    mode: Mode
    ranks: int
    conforming: bool
    engine: str
    """What computed the steps; `none` in replay."""
    write: Samples
    """elapsed: the benchmark's own time, steps and output and close; io: output alone."""
    read: Samples | None
    """The read-back; None without output."""
    beside: Mapping[str, Beside]
    """Of the phases `write` and `read`; empty without output."""
    cpu_s: float
    """CPU seconds of all ranks in the timed part."""
    start_s: float
    """Seconds until the timed part: memory, forcing, compilation, warm-up; of the slowest rank."""
    memory_bytes: int
    """Most memory of arrays on one rank."""
    comparisons: tuple[Comparison, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    @property
    def total_s(self) -> float:
        """The benchmark's own time: the slowest rank's steps, output and close."""
        return self.write.elapsed_s[0]

    @property
    def io_s(self) -> float:
        """Seconds of output on the slowest rank, packing included."""
        return self.write.io[0].max_s

    @property
    def mops(self) -> float | None:
        """Effective operations in millions per second, output time included; None in replay, which computes nothing."""
        return self.problem.flops / self.total_s / 1e6 if self.mode == "solved" else None

    @property
    def bytes_per_s(self) -> float:
        """Effective output bandwidth: all bytes by the whole time (BT §7)."""
        return self.write.moved_bytes[0] / self.total_s

    @property
    def io_bytes_per_s(self) -> float | None:
        """Bytes by the time of output alone."""
        return self.write.moved_bytes[0] / self.io_s if self.io_s else None

    @property
    def ns_per_point(self) -> float | None:
        """CPU nanoseconds of all ranks for one interior point and step."""
        work = self.problem.interior * self.problem.steps
        return self.cpu_s / work * 1e9 if self.mode == "solved" else None

    @property
    def npb(self) -> dict[str, float] | None:
        """The lines of `BTIO -- statistics` of NPB 3.4, in MB of 10^6 bytes; None without output (BT §7)."""
        if not self.beside:
            return None
        rates = [self.beside[phase].rate / 1e6 for phase in ("write", "read")]
        total = self.problem.total_bytes / 1e6
        io_s, verify_s = (total / rate if rate else 0.0 for rate in rates)
        return {
            "io_s": io_s,
            "io_percent": 100 * io_s / self.total_s,
            "verify_io_s": verify_s,
            "written_mb": total,
            "io_mb_s": rates[0],
            "verify_io_mb_s": rates[1],
        }

    def plain(self) -> dict[str, Any]:
        """What is kept beside the record."""
        return {
            "class": self.problem.name,
            "subtype": self.subtype,
            "mode": self.mode,
            "conforming": self.conforming,
            "engine": self.engine,
            "mops": self.mops,
            "effective_bytes_per_s": self.bytes_per_s,
            "io_bytes_per_s": self.io_bytes_per_s,
            "io_s": self.io_s,
            "npb": self.npb,
            "total_s": self.total_s,
            "cpu_s": self.cpu_s,
            "start_s": self.start_s,
            "memory_bytes": self.memory_bytes,
            "ns_per_point_and_step": self.ns_per_point,
            "norms": {one.name: list(one.found) for one in self.comparisons},
            "deviations": {one.name: one.deviation for one in self.comparisons},
            "flags": list(self.flags),
            **({} if self.read is None else self._readback(self.read)),
        }

    def _readback(self, read: Samples) -> dict[str, float]:
        seconds = read.elapsed_s[0]
        return {"readback_s": seconds, "readback_bytes_per_s": read.moved_bytes[0] / seconds}
