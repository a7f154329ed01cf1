"""Parameters of the suite, and what of them shapes its rows (GPFS-04)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_pario.units import GiB, KiB
from pytest_pario.workloads.kinds import Choice, Flag, Size, Whole
from pytest_pario.workloads.parameters import Parameter, Parameters

REGION = 2 * GiB
"""Largest span of an address type of 32 bits (GPFS-14)."""
MAX_ACC = "max_acc"
FILL = 50
"""Per cent of the blocks of the file that the partitioning benchmark uses (GPFS-22)."""

PARAMETERS = (
    Parameter("gpfs_blocks_per_op", Whole(1), 10, "blocks of each operation of the partitioning benchmark"),
    Parameter("gpfs_drop", Whole(0, 6), 0, "lowest replications of each test to leave out; they are reported"),
    Parameter("gpfs_fill", Whole(1, 100), FILL, "per cent of the file's blocks that the partitioning benchmark uses"),
    Parameter("gpfs_partitioning", Flag(), None, "UNIQUE_OPEN in the partitioning benchmark (default: both)"),
    Parameter("gpfs_prealloc", Flag(), None, "preallocate in discontiguous writes (default: both)"),
    Parameter("gpfs_prealloc_by", Choice(("library", "filesystem")), "library", "MPI_File_preallocate, or fallocate"),
    Parameter("gpfs_region", Size(1 * KiB), REGION, "bytes of a region of the discontiguous benchmark"),
    Parameter("gpfs_replications", Whole(1, 100), None, "how often each test is repeated (default by profile)"),
    # a hint too, so that the record of a run says what the library made of it; MAX_ACC in the environment (GPFS-26)
    Parameter(MAX_ACC, Whole(0), None, "access-range hint; 0 is none (default: several, by profile)", hint=MAX_ACC),
)


@dataclass(frozen=True)
class Choices:
    """What the user asks of the rows; the defaults are those of the report."""

    region: int = REGION
    blocks_per_op: int = 10
    fill: float = FILL / 100
    prealloc: bool | None = None
    """None writes with and without."""
    prealloc_by: Literal["library", "filesystem"] = "library"
    """Who preallocates: MPI_File_preallocate, as in the report, or the filesystem."""
    partitioning: bool | None = None
    """None measures the partitioning benchmark with and without."""
    max_acc: int | None = None
    """None takes those of the profile."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """Asked for by the user, who wins over the rows."""


def choose(given: Parameters) -> Choices:
    """The choices that parameters make."""
    prealloc, unique, max_acc = given["gpfs_prealloc"], given["gpfs_partitioning"], given[MAX_ACC]
    return Choices(
        given.whole("gpfs_region"),
        given.whole("gpfs_blocks_per_op"),
        given.whole("gpfs_fill") / 100,
        None if prealloc is None else bool(prealloc),
        "library" if given["gpfs_prealloc_by"] == "library" else "filesystem",
        None if unique is None else bool(unique),
        None if max_acc is None else given.whole(MAX_ACC),
        given.hints,
    )
