"""The hint options file: which hints a type, an access method and a chunk size get. Pure (BEFF-53..60)."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from pytest_pario.errors import HintFileError, ParameterError
from pytest_pario.model import Access
from pytest_pario.units import KiB, MiB
from pytest_pario.workloads.beffio.averages import ACCESSES
from pytest_pario.workloads.beffio.table import MPART, TYPES, Row
from pytest_pario.workloads.hints import NATURAL_KEYS, POSITIVE_KEYS, check_hint

FIELDS = ("procs", "access", "type", "chunk", "key", "value")
ON_OPEN, ALL, LMAX = "on_open", "all", "Lmax"
CHUNKS = ("1024", "1032", "32768", "32776", "1048576", "1048584")
SWITCHABLE = "switchable"
"""At open, the value of a hint that later patterns change; it starts with the default (BEFF-58)."""
BUFFER, DEFAULT_BUFFER = "cb_buffer_size", 16 * MiB
LONGEST_LINE = 2000
ON_BLOCKS = (4, 64)
"""io_buffer_size in blocks of the filesystem, around the default of 16, for chunks below 1 MiB (BEFF-60)."""


@dataclass(frozen=True)
class InfoLimits:
    """MPI_MAX_INFO_KEY and MPI_MAX_INFO_VAL of a library: bytes of a text and of the 0 that ends it.

    What is longer by one is cut without a word by some libraries, and what is longer still is an error of the run.
    """

    key: int
    value: int


MPICH_LIMITS = InfoLimits(255, 1024)


@dataclass(frozen=True)
class Rule:
    """One line of the file."""

    line: int
    procs: int | None
    """Partition size; None is all."""
    access: str
    kind: str
    chunk: str
    key: str
    value: str

    def fits(self, n: int, access: Access, kind: str) -> bool:
        """Whether it speaks of this partition, access method and type."""
        return self.procs in (None, n) and self.access in (ALL, access) and self.kind in (ALL, kind)


@dataclass(frozen=True)
class HintFile:
    """All rules in order; a later one wins over an earlier one for the same key."""

    path: str
    rules: tuple[Rule, ...] = ()

    @property
    def digest(self) -> str:
        """Tells two files with other rules apart, wherever they lie."""
        told = repr([dataclasses.astuple(rule)[1:] for rule in self.rules])
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def on_open(self, n: int, access: Access, kind: str) -> dict[str, str]:
        """Hints given when the file is opened."""
        fitting = (rule for rule in self.rules if rule.fits(n, access, kind) and rule.chunk in (ON_OPEN, ALL))
        return {rule.key: rule.value for rule in fitting}

    def at_pattern(self, n: int, access: Access, row: Row) -> dict[str, str]:
        """Hints given with the view of a pattern, or by set_info (BEFF-55)."""
        chunk = LMAX if row.chunk == MPART else str(row.chunk)
        fitting = (rule for rule in self.rules if rule.fits(n, access, row.kind) and rule.chunk in (chunk, ALL))
        return {rule.key: rule.value for rule in fitting}


def sendable(hints: dict[str, str]) -> dict[str, str]:
    """What can be handed to a library: where it takes numbers only, `switchable` means to begin with the default."""
    numbers = POSITIVE_KEYS | NATURAL_KEYS
    return {key: value for key, value in hints.items() if value != SWITCHABLE or key.lower() not in numbers}


def read_hint_file(
    path: str | Path,
    partitions: Sequence[int],
    common: Mapping[str, str] | None = None,
    limits: InfoLimits = MPICH_LIMITS,
) -> HintFile:
    """Read and check a file; the first wrong line is an error with its number and field, before any I/O (BEFF-56)."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError("beff_hints", str(path), f"a hint options file that can be read: {error}") from error
    return parse_hints(text, str(path), partitions, common, limits)


def parse_hints(
    text: str,
    path: str,
    partitions: Sequence[int],
    common: Mapping[str, str] | None = None,
    limits: InfoLimits = MPICH_LIMITS,
) -> HintFile:
    """The rules of a text with one rule a line: `procs access type chunk key value` (BEFF-54).

    `common` are hints that every file gets besides; a rule at open wins over them.
    """
    rules = HintFile(path, tuple(_rule(path, number, line, partitions, limits) for number, line in _lines(text)))
    for rule in rules.rules:
        _refuse_growth(rules, rule, partitions, (common or {}).get(BUFFER, SWITCHABLE))
    return rules


def _refuse_growth(hints: HintFile, rule: Rule, partitions: Sequence[int], common: str) -> None:
    """Refuse a collective buffer that grows after open: ROMIO keeps that of open, and would write past its end."""
    if rule.key != BUFFER or rule.chunk == ON_OPEN or rule.value == SWITCHABLE:
        return
    for n, access, kind in product(partitions, ACCESSES, TYPES):
        at_open = hints.on_open(n, access, kind).get(BUFFER, common)
        most = DEFAULT_BUFFER if at_open == SWITCHABLE else int(at_open)
        if rule.fits(n, access, kind) and int(rule.value) > most:
            allowed = f"at most the {most} B in force at open of {access} {kind}: a buffer that grows crashes MPICH"
            raise HintFileError(hints.path, rule.line, BUFFER, f"{rule.value!r}: must be {allowed}")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            yield number, line


def _rule(path: str, number: int, line: str, partitions: Sequence[int], limits: InfoLimits) -> Rule:
    def require(holds: bool, field: str, value: str, allowed: str) -> None:
        if not holds:
            raise HintFileError(path, number, field, f"{value!r}: must be {allowed}")

    require(len(line) <= LONGEST_LINE, "line", f"{len(line)} characters", f"at most {LONGEST_LINE}")
    fields = line.split(None, len(FIELDS) - 1)
    allowed = "six fields: " + " ".join(FIELDS)
    require(len(fields) == len(FIELDS), "line", line.strip(), allowed)
    procs, access, kind, chunk, key, value = fields
    value = value.rstrip()
    sizes = ", ".join(map(str, sorted(partitions)))
    in_use = procs == ALL or (procs.isascii() and procs.isdecimal() and int(procs) in partitions)
    require(in_use, "procs", procs, f"all or a partition in use: {sizes}")
    for name, given, words in (
        ("access", access, (ALL, *ACCESSES)),
        ("type", kind, (ALL, *TYPES)),
        ("chunk", chunk, (ALL, ON_OPEN, LMAX, *CHUNKS)),
    ):
        require(given in words, name, given, "one of " + ", ".join(words))
    for name, given, limit in (("key", key, limits.key), ("value", value, limits.value)):
        told = f"at most {limit - 1} bytes, as the MPI library takes no more"
        require(len(given.encode()) < limit, name, given[:40] + " …", told)
    if value != SWITCHABLE:
        check_hint(key, value, f"{path}, line {number}")
    require(value != SWITCHABLE or chunk in (ON_OPEN, ALL), "value", value, "given at open only: chunk on_open or all")
    return Rule(number, None if procs == ALL else int(procs), access, kind, chunk, key, value)


def recommended_grid(block: int) -> dict[str, str]:
    """Hint files for the experiments that the authors recommend, by name (BEFF-60)."""
    if block < 1:
        raise ParameterError("block", block, "bytes of a block of the filesystem, 1 or more")
    return {f"grid-{blocks}-blocks": _grid(block, blocks) for blocks in ON_BLOCKS}


def _grid(block: int, blocks: int) -> str:
    large, size = "IBM_largeblock_io", "IBM_io_buffer_size"
    lines = [
        f"# large blocks for types 2 to 4 and for chunks of 1 MiB and more; below that {blocks} blocks of {block} B"
    ]
    lines += [f"all all {kind} all {large} true" for kind in TYPES[2:]]
    for kind in TYPES[:2]:
        lines.append(f"all all {kind} on_open {large} {SWITCHABLE}")
        lines += [f"all all {kind} {chunk} {large} true" for chunk in (LMAX, *CHUNKS[4:])]
        for chunk in CHUNKS[:4]:
            lines += [f"all all {kind} {chunk} {large} false", f"all all {kind} {chunk} {size} {_size(block * blocks)}"]
    return "\n".join(lines) + "\n"


def _size(count: int) -> str:
    units: tuple[tuple[int, Callable[[int], str]], ...] = ((MiB, "{}MB".format), (KiB, "{}KB".format))
    for unit, text in units:
        if count % unit == 0:
            return text(count // unit)
    return str(count)
