"""What a run of b_eff_io is asked for: options, parameters, and their checks before any I/O (BEFF-49, BEFF-65)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_pario.errors import ParameterError
from pytest_pario.measure.repetition import Termination
from pytest_pario.patterns.partitions import beff_partitions
from pytest_pario.units import GiB, MiB
from pytest_pario.workloads.beffio.averages import DEFINITIONS, Definition
from pytest_pario.workloads.beffio.hintfile import MPICH_LIMITS, HintFile, InfoLimits, read_hint_file
from pytest_pario.workloads.beffio.schedule import RewriteRule, partition_seconds, rewrite_rule, shares, stretch
from pytest_pario.workloads.beffio.sizes import Shape, derive_segment
from pytest_pario.workloads.beffio.table import ROWS, mpart_of
from pytest_pario.workloads.kinds import Choice, Flag, Size, Text
from pytest_pario.workloads.parameters import Parameter, Parameters

MOST_PARTITIONS = 10
TERMINATIONS = Choice(("geometric", "per_call"))
YES_OR_NO = Choice(("yes", "no", "unknown"))

# fmt: off
# of b_eff_io: name, kind of value, default, meaning
PARAMETERS = (
    Parameter("beff_definition",    Choice(DEFINITIONS),      "2.0",       "release whose order and averages count"),
    Parameter("beff_partitions",    Text(),                   None,        "sizes of partitions, such as 2,8,16"),
    Parameter("beff_rewrite",       Choice(("type0", "all")), "type0",     "release 2.0: which types are rewritten"),
    Parameter("beff_memory",        Size(MiB),                None,        "memory of one process (detected)"),
    Parameter("beff_total_memory",  Size(MiB),                None,        "memory of the whole system (detected)"),
    Parameter("beff_max_chunk",     Size(8),                  None,        "most bytes of MPART"),
    Parameter("beff_max_segment",   Size(MiB),                None,        "most bytes of a segment, LSEG"),
    Parameter("beff_segment_align", Size(MiB),                MiB,         "LSEG is a multiple of it (standard: 1M)"),
    Parameter("beff_noshared",      Flag(),                   False,       "no shared pointers; not for comparison"),
    Parameter("beff_unique_open",   Flag(),                   False,       "open with MPI_MODE_UNIQUE_OPEN"),
    Parameter("beff_termination",   TERMINATIONS,             "geometric", "how a timed loop ends"),
    Parameter("beff_fs_cache",      Size(1),                  None,        "bytes of the filesystem's cache"),
    Parameter("beff_dedicated",     YES_OR_NO,                "unknown",   "no other load on the system"),
    Parameter("beff_hints",         Text(),                   None,        "hint options file"),
    Parameter("beff_flush",         Flag(),                   True,        "empty caches before rewrite and read"),
    Parameter("beff_limit",         Size(1),                  None,        "most bytes of one time-driven pattern"),
    Parameter("beff_report",        Text(),                   None,        "path prefix of protocol and summary"),
)

#                   T in s   most bytes of a pattern   most bytes of MPART
PROFILES = {
    "quick":       (  2.0,   16 * MiB,                 2 * MiB),
    "nightly":     (120.0,   8 * GiB,                  None),
    "full":        (1800.0,  None,                     None),
}
# fmt: on


@dataclass(frozen=True)
class Machine:
    """What was found out about the job."""

    ranks: int
    processes_per_node: int
    memory_bytes: int
    """Of one process."""
    total_memory_bytes: int


@dataclass(frozen=True)
class Settings:
    """Everything that decides what is measured; every field is part of the result."""

    total_s: float
    """T (BEFF-44: always reported with the value)."""
    machine: Machine
    partitions: tuple[int, ...]
    definition: Definition = "2.0"
    rewrite: RewriteRule = "type0"
    """Which types are really rewritten: release 1.x takes all, whatever was asked for."""
    max_chunk: int | None = None
    max_segment: int | None = None
    segment_align: int = MiB
    noshared: bool = False
    unique_open: bool = False
    termination: Termination = "geometric"
    fs_cache_bytes: int | None = None
    dedicated: str = "unknown"
    hints: HintFile | None = None
    given_hints: Mapping[str, str] = field(default_factory=dict)
    """Requested for every file by parameters; those of the hint options file win."""
    flush: bool = True
    limit_bytes: int | None = None
    """Most bytes that all processes together move in one time-driven pattern."""
    report: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.total_s < float("inf"):
            raise ParameterError("T", self.total_s, "a positive number of seconds", "--pario-time")
        object.__setattr__(self, "rewrite", rewrite_rule(self.definition, self.rewrite))
        self._check_partitions()
        self._check_segment()

    def _check_partitions(self) -> None:
        size = self.machine.ranks
        count = len(self.partitions)
        if not 1 <= count <= MOST_PARTITIONS or len(set(self.partitions)) < count:
            raise ParameterError("beff_partitions", self.partitions, f"1 to {MOST_PARTITIONS} different sizes")
        for n in self.partitions:
            if not 1 <= n <= size:
                raise ParameterError("beff_partitions", n, f"1 to {size}, the ranks of this job")

    def _check_segment(self) -> None:
        """Refuse a limit that even one call of each chunk size would not keep (BEFF-20)."""
        least = derive_segment({}, self.mpart, self.segment_align).length
        if self.max_segment is not None and self.max_segment < least:
            allowed = f"{least} B or more, one call of each chunk size with MPART = {self.mpart} B"
            raise ParameterError("beff_max_segment", self.max_segment, allowed, "command line or environment")

    @property
    def memory_mib(self) -> int:
        """Memory of one process as the benchmark takes it."""
        return self.machine.memory_bytes // MiB

    @property
    def mpart(self) -> int:
        """Bytes of MPART."""
        return mpart_of(self.memory_mib, self.max_chunk)

    @property
    def deviations(self) -> tuple[str, ...]:
        """What makes the patterns others than those of the benchmark (BEFF-08, BEFF-20)."""
        standard = mpart_of(self.memory_mib)
        told = [f"MPART {self.mpart} B in place of {standard} B (max_chunk)"] if self.mpart < standard else []
        told += [f"segment_align {self.segment_align} B"] if self.segment_align != MiB else []
        return tuple(told)

    @property
    def partition_s(self) -> float:
        """T_n: scheduled time of one partition."""
        return partition_seconds(self.definition, self.total_s, len(self.partitions))

    @property
    def shares(self) -> int:
        """S: units of time of one partition."""
        return shares(self.definition, self.rewrite)

    @property
    def shape(self) -> Shape:
        """What all patterns have in common."""
        return Shape(self.mpart, self.noshared, self.unique_open, self.partition_s, self.shares)

    @property
    def schedule(self) -> str:
        """What two runs must have in common to be compared, beside the definition and what a pattern says of itself."""
        partitions = ",".join(map(str, self.partitions))
        words = [
            f"T={self.total_s:g} s on {partitions}",
            f"MPART={self.mpart}",
            f"rewrite={self.rewrite}",
            self.termination,
        ]
        limits = {"limit": self.limit_bytes, "max_segment": self.max_segment}
        words += [f"{name}={value}" for name, value in limits.items() if value is not None]
        words += [f"align={self.segment_align}"] if self.segment_align != MiB else []
        flags = {"noshared": self.noshared, "unique_open": self.unique_open, "unflushed": not self.flush}
        return " ".join([*words, *(name for name, on in flags.items() if on)])

    @property
    def scheduled_s(self) -> float:
        """Scheduled time of the whole run."""
        return self.partition_s * len(self.partitions)

    @property
    def least_bytes(self) -> int:
        """Bytes of the files if every pattern made one call only: less free space is an error before any I/O."""
        segment = derive_segment({}, self.mpart, self.segment_align, self.max_segment)
        each = sum(row.call_bytes(self.mpart) for row in ROWS if row.type <= 2) + 2 * segment.length
        return each * (sum(self.partitions) if self.definition == "2.0" else max(self.partitions))

    def plain(self) -> dict[str, object]:
        """As plain data for reports and records."""
        found = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in ("machine", "hints")}
        machine = dataclasses.asdict(self.machine)
        more = {"mpart": self.mpart, "partition_s": self.partition_s, "shares": self.shares}
        hints = self.hints.path if self.hints else None
        told = {"partitions": list(self.partitions), "hints": hints, "given_hints": dict(self.given_hints)}
        return {**found, **machine, **more, **told}

    @property
    def asked(self) -> dict[str, object]:
        """What the patterns of two jobs must have in common to stand in one table."""
        hints = self.hints.digest if self.hints else None
        given = dict(self.given_hints)
        return {"definition": self.definition, "schedule": self.schedule, "hint_rules": hints, "given_hints": given}


def read_settings(
    parameters: Parameters,
    time_s: float | None,
    profile: str,
    machine: Machine,
    limits: InfoLimits = MPICH_LIMITS,
) -> Settings:
    """Settings from the command line, the environment and the profile; whatever is wrong is told before any I/O.

    Who gives a time decides how long the run takes: the profile then limits neither bytes nor MPART.
    """
    default_s, limit, max_chunk = PROFILES[profile] if time_s is None else (time_s, None, None)
    partitions = _partitions(parameters, machine.ranks)

    def given(name: str) -> int | None:
        return None if parameters[name] is None else parameters.whole(name)

    machine = dataclasses.replace(
        machine,
        memory_bytes=given("beff_memory") or machine.memory_bytes,
        total_memory_bytes=given("beff_total_memory") or machine.total_memory_bytes,
    )
    chosen: Mapping[str, Any] = {
        name: parameters[f"beff_{name}"] for name in ("definition", "rewrite", "termination", "dedicated", "report")
    }
    hints = None
    if parameters["beff_hints"] is not None:
        hints = read_hint_file(parameters.text("beff_hints"), partitions, parameters.hints, limits)
    if time_s is None:
        default_s *= stretch(chosen["definition"], chosen["rewrite"])
    return Settings(
        default_s,
        machine,
        partitions,
        max_chunk=given("beff_max_chunk") or (None if parameters["beff_memory"] else max_chunk),
        max_segment=given("beff_max_segment"),
        segment_align=parameters.whole("beff_segment_align"),
        noshared=bool(parameters["beff_noshared"]),
        unique_open=bool(parameters["beff_unique_open"]),
        fs_cache_bytes=given("beff_fs_cache"),
        flush=bool(parameters["beff_flush"]),
        limit_bytes=given("beff_limit") or limit,
        hints=hints,
        given_hints=parameters.hints,
        **chosen,
    )


def _partitions(parameters: Parameters, ranks: int) -> tuple[int, ...]:
    if parameters["beff_partitions"] is None:
        return beff_partitions(ranks)
    text, origin = parameters.text("beff_partitions"), parameters.setting("beff_partitions").origin
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() and 1 <= int(word) <= ranks for word in words):
        allowed = f"whole numbers of 1 to {ranks}, the ranks of this job, with commas between"
        raise ParameterError("beff_partitions", text, allowed, origin)
    return tuple(sorted(map(int, words)))
