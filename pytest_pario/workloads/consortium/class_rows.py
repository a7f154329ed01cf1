"""Rows of the performance classes, with the user's parameters in place of the suite's columns. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_pario.errors import ParameterError
from pytest_pario.model import Open, Pattern
from pytest_pario.units import KiB, MiB, format_bytes
from pytest_pario.workloads.consortium.classes import Class
from pytest_pario.workloads.consortium.rows import LAYOUTS, other_calls
from pytest_pario.workloads.consortium.table import TABLE
from pytest_pario.workloads.parameters import Parameters

# fmt: off
#            bytes of each rank
VOLUME: Mapping[str, int] = {"quick": 8 * MiB, "nightly": 256 * MiB, "full": 4096 * MiB}

#    transfer   way
SIZES = (
    (1 * MiB,  "ind"),
    (1 * MiB,  "coll"),
    (1 * MiB,  "posix"),   # CONS-03: what is contiguous exists in both
    (32 * KiB, "ind"),     # CONS-50: small accesses, the size in the label
)
MORE_SIZES = (
    (32 * KiB, "posix"),
)
"""Beside those, in the profiles that take their time."""

# CONS-46: new files, or preallocated space, in sustained writes
KINDS: tuple[tuple[Class, str], ...] = (
    ("sustained-write", "new"),
    ("sustained-write", "preallocated"),
    ("cached-write",    "new"),
    ("sustained-read",  "new"),
)
# fmt: on


@dataclass(frozen=True)
class ClassRow:
    """A test of a performance class, or the reason why it is impossible with what the user gave."""

    name: str
    asked: Class
    pattern: Pattern | None
    given: Parameters
    """The parameters that the row uses, each with its origin (CONS-54)."""
    is_concise: bool = False
    problem: str = ""


def class_rows(profile: str, given: Parameters) -> list[ClassRow]:
    """Every class, size and kind of calls; what the user gave takes the place of the suite's column, once."""
    asked = given.whole("transfer_size") if given.is_given("transfer_size") else None
    chosen = SIZES if profile == "quick" else SIZES + MORE_SIZES
    sizes = dict.fromkeys((size if asked is None else asked, way) for size, way in chosen)
    kinds = dict.fromkeys((kind, _allocation(kind, own, given)) for kind, own in KINDS)
    rows = []
    for kind, allocation in kinds:
        for size, way in sizes:
            suite = {"transfer_size": size, "block_size": VOLUME[profile], "allocation": allocation}
            first = allocation == dict(reversed(list(kinds)))[kind] and (size, way) == next(iter(sizes))
            used = given.over(TABLE, suite | {"collective": way == "coll"})
            rows.append(_row(kind, allocation, way, used, is_concise=first))
    return rows


def _allocation(kind: Class, own: str, given: Parameters) -> str:
    """CONS-46 is a parameter of sustained writes only."""
    return given.text("allocation") if kind == "sustained-write" and given.is_given("allocation") else own


def _row(kind: Class, allocation: str, way: str, given: Parameters, *, is_concise: bool) -> ClassRow:
    names = (
        "transfer_size",
        "block_size",
        "header_bytes",
        "collective",
        *(("allocation",) if kind == "sustained-write" else ()),
    )
    used, pattern, problem = given.only(names), None, other_calls(given, coll=way == "coll")
    size = given.whole("transfer_size") or given.whole("block_size")
    name = f"{kind}-{format_bytes(size).replace(' ', '')}-{way}-{allocation}"
    try:
        header = given.whole("header_bytes") > 0
        pattern = Pattern(
            name,
            LAYOUTS["segmented"](given),
            way == "coll",
            pointer="explicit",
            api="posix" if way == "posix" else "mpiio",
            sync="none" if kind == "cached-write" else "end",
            # what lies before the data is sized beforehand and must stay untouched (GEN-05)
            open=Open(prealloc=allocation == "preallocated", presize=header and allocation == "new"),
        )
    except ParameterError as error:
        problem = str(error)
    return ClassRow(name, kind, pattern, used, is_concise, problem)
