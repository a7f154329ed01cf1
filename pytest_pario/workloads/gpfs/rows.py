"""All patterns of the suite as tables, scaled by profile. Pure (GPFS-04..33, MODEL-08)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_pario.model import Access, Hints, Open, Pattern
from pytest_pario.patterns.scattered import Scattered
from pytest_pario.patterns.segmented import Segmented
from pytest_pario.patterns.sparse_strided import SparseStrided
from pytest_pario.patterns.strided import Strided
from pytest_pario.units import GiB, KiB, MiB, format_bytes

Summary = Literal["maximum", "mean"]

BLOCK = 1 * KiB
"""Of the discontiguous benchmark (GPFS-12)."""
REGION = 2 * GiB
"""Largest span of an address type of 32 bits (GPFS-14)."""
FILE_BLOCK = 256 * KiB
SUB_BLOCK = 4 * KiB
PREFILL = 0xEE
"""Stands where nobody writes, and must still stand there afterwards (GEN-06)."""
LARGE, SIZE = "IBM_largeblock_io", "IBM_io_buffer_size"
MAX_ACC = "max_acc"


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
    summary: Summary = "maximum"
    types_inside: bool = False
    """Filetypes are built inside the timed part."""
    single: bool = False
    """One replication only, flagged: prohibitively slow (GPFS-05)."""
    phases: tuple[Access, ...] = ("write", "read")
    parameters: tuple[tuple[str, object], ...] = ()
    """What the record says beside the pattern."""


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
        yield Row(_pattern("contiguous", layout, way, pointer="explicit", open=opened, hints=hints))


def discontiguous(scale: Scale, n: int, seed: int, region: int = REGION) -> Iterator[Row]:
    """All blocks of 1 KiB dealt at random, region by region (GPFS-12..17); writes with and without preallocation."""
    layout = Scattered(BLOCK, scale.blocks * n, seed=seed, region=region)
    for way in WAYS:
        # each region has a view of its own; POSIX goes block by block
        yield Row(
            _pattern("discontiguous", layout, way, open=Open(unique=True)),
            types_inside=way != "posix",
            single=way == "posix",
        )
    prealloc = _pattern("discontiguous-prealloc", layout, "coll", open=Open(unique=True, prealloc=True))
    yield Row(prealloc, types_inside=True, phases=("write",))


def partitioning(scale: Scale, n: int, seed: int, per_op: int = 10, fill: float = 0.5) -> Iterator[Row]:
    """A few blocks of 8 KiB per operation, anywhere in the file, with and without UNIQUE_OPEN (GPFS-19..22)."""
    total = round(scale.partition_blocks * n / fill)
    layout = Scattered(8 * KiB, total, seed=seed, per_call=per_op, fraction=fill)
    hints = Hints({LARGE: "false", SIZE: "16MB"})
    for word, unique in (("on", True), ("off", False)):
        opened = Open(unique=unique, prefill=PREFILL)
        yield Row(
            _pattern(f"partitioning-{word}", layout, "indep", open=opened, hints=hints),
            summary="mean",
            parameters=(("partitioning", word), ("blocks_per_op", per_op), ("fill", fill)),
        )
    posix = _pattern("partitioning", layout, "posix", open=Open(prefill=PREFILL))
    yield Row(posix, summary="mean")


def access_range(scale: Scale, n: int, seed: int) -> Iterator[Row]:
    """Sub-blocks of file blocks that no two tasks share, by number of sub-blocks and max_acc (GPFS-24..29)."""
    for count in scale.sub_counts:
        layout = Scattered(FILE_BLOCK, scale.range_blocks * n, seed=seed, sub=(count, SUB_BLOCK))
        for max_acc in scale.max_accs:
            hints = Hints({LARGE: "true", MAX_ACC: str(max_acc)} if max_acc else {LARGE: "true"})
            for way in ("indep", "coll"):
                yield Row(
                    _pattern(f"range-{count}x4k-acc{max_acc}", layout, way, open=Open(prefill=PREFILL), hints=hints),
                    summary="mean",
                    types_inside=True,
                    parameters=(("sub_blocks", count), (MAX_ACC, max_acc)),
                )
        yield Row(_pattern(f"range-{count}x4k", layout, "posix", open=Open(prefill=PREFILL)), summary="mean")


def strided(scale: Scale, n: int) -> Iterator[Row]:
    """Tiled: every record of a file in turn; sparse: never twice the same file block (GPFS-30..32)."""
    record = 12 * KiB
    count = max(1, scale.strided_bytes // record)
    tiled = Strided(record, ncalls=count)
    for way in ("indep", "posix"):
        yield Row(_pattern("tiled-12k", tiled, way))
    if n <= 24:
        sparse = SparseStrided(record, 24 * record, max(1, count // 8))
        for way in ("indep", "posix"):
            yield Row(_pattern("sparse-12k", sparse, way, open=Open(prefill=PREFILL)))


def random(scale: Scale, n: int, seed: int) -> Iterator[Row]:
    """One record per call, anywhere: plain, with the access-range hint, and writes with partitioning too (GPFS-33)."""
    for size in scale.records:
        layout = Scattered(size, max(1, scale.strided_bytes // size) * n, seed=seed, per_call=1)
        name = f"random-{format_bytes(size).replace(' ', '')}"
        hinted = Hints({MAX_ACC: "2"})
        # explicit offsets: a view for each record would cost more than the record
        for way in ("indep", "posix"):
            yield Row(_pattern(name, layout, way, pointer="explicit"))
        yield Row(_pattern(f"{name}-range", layout, "indep", pointer="explicit", hints=hinted))
        unique = Open(unique=True)
        both = _pattern(f"{name}-range-unique", layout, "indep", pointer="explicit", hints=hinted, open=unique)
        yield Row(both, phases=("write",))


def all_rows(profile: str, n: int, seed: int = 1) -> list[Row]:
    """The whole suite on `n` tasks."""
    scale = SCALES[profile]
    return [
        *contiguous(scale),
        *discontiguous(scale, n, seed),
        *partitioning(scale, n, seed),
        *access_range(scale, n, seed),
        *strided(scale, n),
        *random(scale, n, seed),
    ]
