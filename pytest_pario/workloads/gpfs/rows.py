"""All patterns of the suite as tables, scaled by profile. Pure (GPFS-04..33, MODEL-08)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_pario.model import Access, Hints, Open, Pattern
from pytest_pario.patterns.scattered import Scattered
from pytest_pario.patterns.segmented import Segmented
from pytest_pario.patterns.sparse_strided import SparseStrided
from pytest_pario.patterns.strided import Strided
from pytest_pario.schemes.directives import partitioning_wanted
from pytest_pario.units import KiB, MiB, format_bytes
from pytest_pario.workloads.gpfs.parameters import MAX_ACC, Choices
from pytest_pario.workloads.hints import relieve

Summary = Literal["maximum", "mean"]

BLOCK = 1 * KiB
"""Of the discontiguous benchmark (GPFS-12)."""
FILE_BLOCK = 256 * KiB
SUB_BLOCK = 4 * KiB
PREFILL = 0xEE
"""Stands where nobody writes, and must still stand there afterwards (GEN-06)."""
LARGE, SIZE = "IBM_largeblock_io", "IBM_io_buffer_size"


PARTITIONING = "partitioning"
STANDARD = Choices()


@dataclass(frozen=True)
class Scale:
    """How much of the published sizes a profile measures."""

    region: int
    """Bytes of each task in the contiguous benchmark: 333 MiB in the report."""
    blocks: int
    """Blocks of 1 KiB of each task in the discontiguous one: 340992."""
    partition_blocks: int
    """Blocks of 8 KiB of each task in the partitioning one: 10000."""
    range_blocks: int
    """File blocks of each task in the access-range one: 100."""
    sub_counts: tuple[int, ...]
    max_accs: tuple[int, ...]
    records: tuple[int, ...]
    """Record sizes of the random tests."""
    strided_bytes: int
    """Bytes of each task in the strided and random tests."""
    replications: int


# fmt: off
SCALES: Mapping[str, Scale] = {
    "quick":   Scale(2 * MiB,   2048,    40,     8,   (2,),          (0, 2),
                     (4 * KiB, 64 * KiB),                        1 * MiB,   3),
    "nightly": Scale(64 * MiB,  65536,   2000,  50,   (1, 8),        (0, 1, 4),
                     (4 * KiB, 32 * KiB, 512 * KiB),             32 * MiB,  7),
    "full":    Scale(333 * MiB, 340992, 10000, 100,   (1, 2, 8, 16), (0, 1, 2, 4, 8),
                     tuple(4 * KiB << power for power in range(8)), 256 * MiB, 7),
}
# fmt: on


@dataclass(frozen=True)
class Row:
    """One test: a pattern, how it is summed up, and what it is compared with."""

    pattern: Pattern
    like: str
    """What rows of one layout have in common: they are compared with each other, and with the POSIX one (GPFS-06)."""
    summary: Summary = "maximum"
    types_inside: bool = False
    """Filetypes are built inside the timed part."""
    single: bool = False
    """One replication only, flagged: prohibitively slow (GPFS-05)."""
    phases: tuple[Access, ...] = ("write", "read")
    parameters: tuple[tuple[str, object], ...] = ()
    """What the record says beside the pattern."""

    @property
    def way(self) -> str:
        """How it is accessed: `indep`, `coll` or `posix`."""
        return next(way for way, (coll, api, _) in WAYS.items() if (self.pattern.coll, self.pattern.api) == (coll, api))


def _pattern(name: str, layout: object, way: str, **more: object) -> Pattern:
    coll, api, pointer = WAYS[way]
    given = {"pointer": pointer, "api": api, "metric": "job_time", "sync": "end", **more}
    if api == "posix":
        given["pointer"] = "explicit"
    return Pattern(f"gpfs-{name}-{way}", layout, coll, **given)  # type: ignore[arg-type]


WAYS = {
    "indep": (False, "mpiio", "individual"),
    "coll": (True, "mpiio", "individual"),
    "posix": (False, "posix", "explicit"),
}


def contiguous(scale: Scale) -> Iterator[Row]:
    """One region of each task in a file that exists, explicit offsets, UNIQUE_OPEN (GPFS-08..10)."""
    layout = Segmented(scale.region, (scale.region,))
    opened = Open(unique=True, existing=True)
    for way in WAYS:
        hints = Hints({LARGE: "true"} if way != "posix" else {})
        yield Row(_pattern("contiguous", layout, way, pointer="explicit", open=opened, hints=hints), "contiguous")


def discontiguous(scale: Scale, n: int, seed: int, choices: Choices = STANDARD) -> Iterator[Row]:
    """All blocks of 1 KiB dealt at random, region by region (GPFS-12..17); writes with and without preallocation."""
    layout, like = Scattered(BLOCK, scale.blocks * n, seed=seed, region=choices.region), "discontiguous"
    told, by = (("region", choices.region),), choices.prealloc_by
    for way in WAYS:
        # each region has a view of its own; POSIX goes block by block
        opened = Open(unique=True, prealloc=True, prealloc_by=by) if choices.prealloc else Open(unique=True)
        pattern = _pattern(like, layout, way, open=opened)
        yield Row(pattern, like, types_inside=way != "posix", single=way == "posix", parameters=told)
    if choices.prealloc is None:
        prealloc = _pattern(f"{like}-prealloc", layout, "coll", open=Open(unique=True, prealloc=True, prealloc_by=by))
        yield Row(prealloc, like, types_inside=True, phases=("write",), parameters=told)


def partitioning(scale: Scale, n: int, seed: int, choices: Choices = STANDARD) -> Iterator[Row]:
    """A few blocks of 8 KiB per operation, anywhere in the file, with and without UNIQUE_OPEN (GPFS-19..22)."""
    per_op, fill, like = choices.blocks_per_op, choices.fill, "partitioning"
    total = round(scale.partition_blocks * n / fill)
    layout = Scattered(8 * KiB, total, seed=seed, per_call=per_op, fraction=fill)
    hints = Hints({LARGE: "false", SIZE: "16MB"})
    told = (("blocks_per_op", per_op), ("fill", fill))
    for word, unique in (("on", True), ("off", False)):
        if choices.partitioning not in (None, unique):
            continue
        opened = Open(unique=unique, prefill=PREFILL)
        pattern = _pattern(f"{like}-{word}", layout, "indep", open=opened, hints=hints)
        # every operation has a view of its own: few or many, what it takes to make one is timed
        yield Row(pattern, like, summary="mean", types_inside=True, parameters=((PARTITIONING, word), *told))
    posix = _pattern(like, layout, "posix", open=Open(prefill=PREFILL))
    yield Row(posix, like, summary="mean", parameters=told)


def access_range(scale: Scale, n: int, seed: int, choices: Choices = STANDARD) -> Iterator[Row]:
    """Sub-blocks of file blocks that no two tasks share, by number of sub-blocks and max_acc (GPFS-24..29)."""
    max_accs = scale.max_accs if choices.max_acc is None else (choices.max_acc,)
    opened = Open(prefill=PREFILL)
    for count in scale.sub_counts:
        layout = Scattered(FILE_BLOCK, scale.range_blocks * n, seed=seed, sub=(count, SUB_BLOCK))
        like = f"range-{count}x4k"
        for max_acc in max_accs:
            hints = Hints({LARGE: "true", MAX_ACC: str(max_acc)} if max_acc else {LARGE: "true"})
            told = (("sub_blocks", count), (MAX_ACC, max_acc))
            for way in ("indep", "coll"):
                pattern = _pattern(f"{like}-acc{max_acc}", layout, way, open=opened, hints=hints)
                yield Row(pattern, like, summary="mean", types_inside=True, parameters=told)
        yield Row(_pattern(like, layout, "posix", open=opened), like, summary="mean")


def strided(scale: Scale, n: int) -> Iterator[Row]:
    """Tiled: every record of a file in turn; sparse: never twice the same file block (GPFS-30..32)."""
    record = 12 * KiB
    count = max(1, scale.strided_bytes // record)
    tiled = Strided(record, ncalls=count)
    for way in ("indep", "posix"):
        yield Row(_pattern("tiled-12k", tiled, way), "tiled")
    if n <= 24:
        sparse = SparseStrided(record, 24 * record, max(1, count // 8))
        for way in ("indep", "posix"):
            yield Row(_pattern("sparse-12k", sparse, way, open=Open(prefill=PREFILL)), "sparse")


def random(scale: Scale, n: int, seed: int, choices: Choices = STANDARD) -> Iterator[Row]:
    """One record per call, anywhere: plain, with the access-range hint, and writes with partitioning too (GPFS-33)."""
    max_acc = 2 if choices.max_acc is None else choices.max_acc
    hinted, told = Hints({MAX_ACC: str(max_acc)} if max_acc else {}), ((MAX_ACC, max_acc),)
    for size in scale.records:
        layout = Scattered(size, max(1, scale.strided_bytes // size) * n, seed=seed, per_call=1)
        name = f"random-{format_bytes(size).replace(' ', '')}"
        # explicit offsets: a view for each record would cost more than the record
        for way in ("indep", "posix"):
            yield Row(_pattern(name, layout, way, pointer="explicit"), name)
        ranged = _pattern(f"{name}-range", layout, "indep", pointer="explicit", hints=hinted)
        yield Row(ranged, name, parameters=told)
        unique = Open(unique=True)
        both = _pattern(f"{name}-range-unique", layout, "indep", pointer="explicit", hints=hinted, open=unique)
        yield Row(both, name, phases=("write",), parameters=told)


def all_rows(profile: str, n: int, seed: int = 1, choices: Choices = STANDARD) -> list[Row]:
    """The whole suite on `n` tasks; hints that the user asks for take the place of those of the rows."""
    scale = SCALES[profile]
    rows = [
        *contiguous(scale),
        *discontiguous(scale, n, seed, choices),
        *partitioning(scale, n, seed, choices),
        *access_range(scale, n, seed, choices),
        *strided(scale, n),
        *random(scale, n, seed, choices),
    ]
    return [dataclasses.replace(row, pattern=relieve(row.pattern, choices.hints)) for row in rows]


def task_counts(profile: str, size: int) -> list[int]:
    """Numbers of tasks that the suite runs on: all, and but for the quick profile all powers of two below (GPFS-07)."""
    fewer = [1 << power for power in range(size.bit_length()) if 1 << power < size]
    return [size] if profile == "quick" else [*fewer, size]


def told_of(row: Row, hints: Mapping[str, str], dropped: Iterable[str] = ()) -> dict[str, object]:
    """What the record says of a row beside its pattern, as the hints asked for and those `dropped` make it."""
    asked = {**hints, **row.pattern.hints.on_open}
    told = dict(row.parameters)
    if MAX_ACC in told:
        told[MAX_ACC] = int(asked.get(MAX_ACC, "0"))
    large = asked.get(LARGE)
    if PARTITIONING in told:
        told["switch"] = told[PARTITIONING]
        told[PARTITIONING] = "on" if partitioning_wanted(row.pattern.open.unique, large) else "off"
        if not partitioning_wanted(True, large):
            told["ignored"] = f"the switch of partitioning is ignored with {LARGE}={large}"  # GPFS-20
    # a library that does not know these hints does nothing else of MPI-IO/GPFS either (GPFS-04)
    if own := sorted({LARGE, SIZE, MAX_ACC} & set(dropped)):
        told["dropped_hints"] = own
    return told
