"""All nouns of the program on one page; verbs are functions elsewhere.

A row of a suite is a `Pattern`; its layout gives a `Plan` (which byte each rank moves in which call); running the plan
gives `Samples`; a `Record` is what is saved; judging it gives a `Verdict`. All are frozen, and all check themselves.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from pytest_pario.errors import ParameterError
from pytest_pario.plain import plain

Int64: TypeAlias = npt.NDArray[np.int64]

FileKind = Literal["shared", "each"]
Pointer = Literal["explicit", "individual", "shared"]
Access = Literal["write", "rewrite", "read"]
SyncRule = Literal["none", "per_pattern", "per_call", "end"]
Metric = Literal["beff_type", "transfer_rate", "aggregate", "job_time"]
Api = Literal["mpiio", "posix"]
State = Literal["held", "improved", "regressed", "yellow", "damaged", "learning", "blind", "accepted"]

STRATEGIES = ("native", "independent", "two_phase", "data_shipping", "resonant")
"""Who carries out collective calls: the library, nobody (independent calls), or one of our schemes."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_ORDERED = "used with one contiguous piece per call in rank order, without gap or padding"
_CHOICES = {"pointer": Pointer, "files": FileKind, "sync": SyncRule, "metric": Metric, "api": Api}


def _require(holds: bool, name: str, value: object, allowed: str) -> None:
    if not holds:
        raise ParameterError(name, value, allowed)


def _require_choice(name: str, value: object, kind: object) -> None:
    _require(value in get_args(kind), name, value, "one of " + ", ".join(get_args(kind)))


class Layout(Protocol):
    """Which bytes each rank moves in which call; `patterns/protocol.py` has the whole of it and its members."""

    @property
    def name(self) -> str:
        """The word by which a suite asks for this layout."""

    @property
    def ordered(self) -> bool:
        """Whether the calls of all ranks, in rank order, follow each other without gaps (shared pointer)."""

    def at(self, n: int) -> Layout:
        """The layout on `n` ranks, checked, with every expression over n evaluated."""

    def parameters(self) -> dict[str, object]:
        """The parameters that differ from their defaults, as plain data."""


@dataclass(frozen=True, eq=False)
class Extents:
    """The extent table of one rank: m extents, cut into calls; an empty call is still a call."""

    offsets: Int64
    """Absolute file offset of each extent, shape (m,), in the order of the bytes in memory."""
    lengths: Int64
    """Bytes of each extent, shape (m,), each at least 1."""
    bounds: Int64
    """Call c has the extents bounds[c] to bounds[c+1]-1; shape (calls + 1,)."""

    def __post_init__(self) -> None:
        for name in ("offsets", "lengths", "bounds"):
            array = np.ascontiguousarray(getattr(self, name), dtype=np.int64).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        shapes = (len(self.offsets), len(self.lengths), int(self.bounds[-1]))
        _require(len(set(shapes)) == 1, "extents", shapes, "as many offsets as lengths, all of them in calls")

    @property
    def call_count(self) -> int:
        """Number of calls, empty ones included."""
        return len(self.bounds) - 1

    @property
    def total_bytes(self) -> int:
        """Bytes moved by all calls."""
        return int(self.lengths.sum())

    @property
    def end(self) -> int:
        """One past the last byte of the file that is touched; 0 where nothing is."""
        return int((self.offsets + self.lengths).max(initial=0))

    @property
    def call_bytes(self) -> Int64:
        """Bytes of each call, shape (calls,)."""
        return np.diff(np.concatenate(([0], np.cumsum(self.lengths)))[self.bounds])

    @property
    def first_offsets(self) -> Int64:
        """Offset of the first byte of each call, shape (calls,); 0 for an empty call."""
        begins = self.bounds[:-1]
        padded = np.append(self.offsets, 0)
        return np.where(begins < self.bounds[1:], padded[begins], 0)

    def shifted(self, by: int) -> Extents:
        """The same extents, `by` bytes further on in the file."""
        return self if by == 0 else Extents(self.offsets + by, self.lengths, self.bounds)


@dataclass(frozen=True, eq=False)
class Plan:
    """A pattern on n ranks: what every rank moves; pure data, the same on every rank."""

    pattern: Pattern
    n: int
    repetitions: int
    base: int
    """File position at which the pattern begins, D_p of a chain (MODEL-04)."""
    ranks: Sequence[Extents]
    """Extents of each rank; made on demand, so that a rank pays for its own table only."""


@dataclass(frozen=True)
class Memory:
    """How a call's bytes lie in memory: contiguous, or in pieces with a gap after each."""

    piece: int = 0
    gap: int = 0

    def __post_init__(self) -> None:
        _require(self.gap >= 0, "mem.gap", self.gap, "0 (contiguous) or more bytes")
        _require(self.piece > 0 if self.gap else self.piece == 0, "mem.piece", self.piece, "positive, with a gap only")


@dataclass(frozen=True)
class Open:
    """How the file is opened and what is done to it before the first write."""

    unique: bool = False
    """Set MPI_MODE_UNIQUE_OPEN."""
    atomic: bool = False
    prealloc: bool = False
    """Preallocate the final size."""
    prealloc_by: Literal["filesystem", "library"] = "filesystem"
    """Who does: the filesystem, or MPI_File_preallocate, which may write it all (ENV-07)."""
    presize: bool = False
    """Set the final size, which makes holes read as zeros (GEN-05)."""
    prefill: int | None = None
    """Fill the final size with this byte, which must survive wherever nobody writes (GEN-06)."""
    existing: bool = False
    """The file exists beforehand, in its final size; otherwise the first write creates it."""
    delete_on_close: bool = False
    """Set MPI_MODE_DELETE_ON_CLOSE in the last read; what is written must stay, since it is verified afterwards."""
    alone: bool = False
    """Every rank opens the shared file by itself, on COMM_SELF (CONS-63)."""

    def __post_init__(self) -> None:
        words = ("filesystem", "library")
        _require(self.prealloc_by in words, "open.prealloc_by", self.prealloc_by, f"one of {', '.join(words)}")
        _require(self.prefill is None or 0 <= self.prefill <= 255, "open.prefill", self.prefill, "None or 0 .. 255")

    @property
    def background(self) -> int | None:
        """The byte that holes must hold, or None where they are undefined and never compared (GEN-05)."""
        if self.prefill is not None:
            return self.prefill
        return 0 if self.presize or self.prealloc or self.existing else None


@dataclass(frozen=True)
class Hints:
    """MPI hints: at open, and with the view of each chunk size (BEFF-55); not to be changed once given."""

    on_open: Mapping[str, str] = field(default_factory=dict)
    per_chunk: Mapping[str, str] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((*sorted(self.on_open.items()), *sorted(self.per_chunk.items())))


@dataclass(frozen=True)
class Fixed:
    """Exactly `count` repetitions."""

    name: ClassVar[str] = "fixed"
    count: int = 1

    def __post_init__(self) -> None:
        _require(self.count >= 1, "repeat.count", self.count, "1 or more")


@dataclass(frozen=True)
class Timed:
    """As many repetitions as fit into T * U / S seconds, at least one; U = 0 means exactly one (BEFF-22..24)."""

    name: ClassVar[str] = "timed"
    total_s: float
    units: int
    shares: int = 150

    def __post_init__(self) -> None:
        _require(0 < self.total_s < float("inf"), "repeat.total_s", self.total_s, "a positive number of seconds")
        _require(self.units >= 0, "repeat.units", self.units, "0 or more")
        _require(self.shares >= 1, "repeat.shares", self.shares, "1 or more")

    @property
    def limit_s(self) -> float:
        """The time that this pattern may take."""
        # T_p = T * U_p / S
        return self.total_s * self.units / self.shares


@dataclass(frozen=True)
class Replay:
    """As many repetitions as were recorded when the same bytes were first written (BEFF-27)."""

    name: ClassVar[str] = "replay"


@dataclass(frozen=True)
class Derived:
    """As many repetitions as follow from the counts of the named patterns (BEFF-18)."""

    name: ClassVar[str] = "derived"
    of: tuple[str, ...]

    def __post_init__(self) -> None:
        _require(bool(self.of), "repeat.of", self.of, "the names of one or more patterns")


Repeat: TypeAlias = Fixed | Timed | Replay | Derived


@dataclass(frozen=True)
class Pattern:
    """One row of a suite: which bytes are moved, by which calls, and how the result counts (MODEL-01)."""

    name: str
    layout: Layout
    coll: bool = False
    ranks: int | None = None
    """Number of ranks that take part; None runs on as many as there are."""
    pointer: Pointer = "individual"
    files: FileKind = "shared"
    """One file for all, or one for each rank, named with a rank suffix."""
    mem: Memory = Memory()
    access: tuple[Access, ...] = ("write", "rewrite", "read")
    open: Open = Open()
    sync: SyncRule = "end"
    repeat: Repeat = Fixed()
    hints: Hints = Hints()
    metric: Metric = "transfer_rate"
    api: Api = "mpiio"
    etype: int = 1
    """Bytes of the elementary type of the view: 1 is MPI.BYTE, 8 is MPI.DOUBLE (BEFF-12)."""
    strategy: str | None = None
    """Such as `two_phase:agents=2`; None is what `--pario-strategy` says, else the calls that the row names."""
    after: str | None = None
    """Name of the pattern of the same file at whose end this one begins (MODEL-04)."""

    def __post_init__(self) -> None:
        require = self._require
        require(bool(_NAME.fullmatch(self.name)), "name", self.name, "letters, digits and . _ + - only")
        for key, kind in _CHOICES.items():
            _require_choice(f"{self.name}: {key}", getattr(self, key), kind)
        steps = self.access
        known = 0 < len(steps) == len(set(steps) & set(get_args(Access)))
        require(known, "access", steps, "one or more of write, rewrite, read, each once")
        require(self.etype >= 1, "etype", self.etype, "1 or more bytes")
        require(not (self.coll and self.files == "each"), "coll", True, "false with a file for each rank")
        if self.api == "posix":
            self._check_posix()
        if self.open.delete_on_close:
            allowed = "read alone with delete_on_close: what is written is verified after the close"
            require(steps == ("read",), "access", steps, allowed)
        timed = isinstance(self.repeat, Timed)
        require(not timed or self.sync != "per_call", "sync", self.sync, "none, per_pattern or end with a given time")
        if self.strategy is not None:
            named = self.strategy.partition(":")[0]
            require(named in STRATEGIES, "strategy", self.strategy, f"one of {', '.join(STRATEGIES)}")
            require(self.api == "mpiio", "strategy", self.strategy, "left out with api=posix")
        if self.open.alone:
            require(not self.coll, "coll", True, "false where every rank opens the file by itself")
        if self.pointer == "shared":
            require(not self.open.alone, "open.alone", True, "false with a shared pointer")
            require(self.files == "shared", "files", self.files, "shared with a shared pointer")
            require(self.mem == Memory(), "mem", self.mem, "contiguous with a shared pointer")
        if self.ranks is not None:
            require(self.ranks >= 1, "ranks", self.ranks, "1 or more")
            self.placed(self.ranks)

    def _check_posix(self) -> None:
        """Refuse what only MPI-IO carries out: POSIX calls have an offset, and one piece of memory."""
        explicit = self.pointer == "explicit" and not self.coll
        self._require(explicit, "api", "posix", "mpiio, unless calls are explicit and independent")
        for holds, name, value, allowed in (
            (self.mem == Memory(), "mem", self.mem, "contiguous"),
            (not self.open.atomic, "open.atomic", True, "false"),
            (not self.open.delete_on_close, "open.delete_on_close", True, "false"),
            (self.hints == Hints(), "hints", self.hints, "left out"),
            (not isinstance(self.repeat, Timed), "repeat", self.repeat.name, "fixed"),
        ):
            self._require(holds, name, value, f"{allowed} with api=posix")

    def _require(self, holds: bool, name: str, value: object, allowed: str) -> None:
        _require(holds, f"{self.name}: {name}", value, allowed)

    @property
    def times_calls(self) -> bool:
        """Whether its time is that of access and sync, without open and close."""
        return self.metric in ("aggregate", "job_time")

    def placed(self, n: int) -> Layout:
        """The layout on `n` ranks, after every check that depends on n; the error names the row."""
        try:
            layout = self.layout.at(1 if self.files == "each" else n)
        except ParameterError as error:
            raise ParameterError(f"{self.name}: {error.name}", error.value, error.allowed, error.origin) from None
        self._require(self.pointer != "shared" or layout.ordered, "pointer", "shared", _ORDERED)
        return layout

    @property
    def id(self) -> str:
        """Name and digest of the fields: rows of one name but of other parameters are never taken for each other."""
        text = json.dumps(plain(dataclasses.replace(self, name="any")), sort_keys=True)
        return f"{self.name}@{hashlib.sha256(text.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class Spread:
    """Seconds of one phase over the ranks: least, mean, most, and population variance (CONS-34)."""

    min_s: float
    mean_s: float
    max_s: float
    variance_s2: float


@dataclass(frozen=True)
class Samples:
    """Bytes and seconds of each repetition, agreed over the ranks; all tuples are equally long."""

    moved_bytes: tuple[int, ...]
    open: tuple[Spread, ...]
    io: tuple[Spread, ...]
    sync: tuple[Spread, ...]
    close: tuple[Spread, ...]
    elapsed_s: tuple[float, ...]
    """The longest time from the start before open to the stop after close on one rank (CONS-37); of access and sync
    alone where the metric is `aggregate` or `job_time`."""
    span_s: tuple[float, ...]
    """Latest stop minus earliest start over the ranks (CONS-31)."""

    def __post_init__(self) -> None:
        counts = {f.name: len(getattr(self, f.name)) for f in dataclasses.fields(self)}
        _require(len(set(counts.values())) == 1, "samples", counts, "as many of each kind as repetitions")


@dataclass(frozen=True)
class Damage:
    """Wrong bytes, and what is known of them (GEN-07)."""

    path: str
    offset: int
    """First wrong byte."""
    expected: int | None
    """What it should be; None where the file should have ended."""
    actual: int | None
    """What it is; None where the file has ended."""
    bad_bytes: int
    rank: int | None
    """Who should have written it; None where nobody should have."""
    call: int | None
    guess: str
    """What happened, in words, as far as the bytes show it."""

    def __str__(self) -> str:
        expected, actual = (f"0x{b:02x}" if b is not None else "end of file" for b in (self.expected, self.actual))
        writer = "nobody writes here" if self.rank is None else f"rank {self.rank} writes here (call {self.call})"
        plural = "s" if self.bad_bytes != 1 else ""
        return (
            f"{self.path}: {self.bad_bytes} wrong byte{plural}, first at offset {self.offset}: "
            f"expected {expected}, found {actual}; {writer}; {self.guess}"
        )


@dataclass(frozen=True)
class Record:
    """What is saved of one pattern and phase (GEN-14)."""

    pattern: Pattern
    phase: Access
    n: int
    samples: Samples
    seed: int
    fingerprint: Mapping[str, object] = field(default_factory=dict)
    """Facts of the environment by which two runs are compared."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """Facts of this run: hints in force, cache state, loop used."""
    flags: tuple[str, ...] = ()
    """What limits the validity of the numbers, such as `oversubscribed`."""
    damage: Damage | None = None


@dataclass(frozen=True, repr=False)
class Verdict:
    """What the numbers mean; true unless the test must fail, and its repr is its sentence."""

    state: State
    sentence: str

    def __post_init__(self) -> None:
        _require_choice("state", self.state, State)

    def __bool__(self) -> bool:
        return self.state not in ("regressed", "damaged")

    def __repr__(self) -> str:
        return self.sentence
