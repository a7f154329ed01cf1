"""Access patterns of the Parallel I/O Benchmarking Consortium: segmented, strided, random, general.

Each for collective and independent calls, by file view and by explicit offset, with MPI-IO and with POSIX, written and
read. The sweep over the number of clients is in test_consortium_classes.py.
Patterns and terms: B. Loewe, 2002-04-23 (CONS-10..24, CONS-75).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_pario.model import Access, Open, Pattern
from pytest_pario.patterns import Layout, RandomSizes, Segmented, Strided
from pytest_pario.session.keys import OPTIONS
from pytest_pario.units import KiB, MiB, format_bytes

if TYPE_CHECKING:
    from pytest_pario.fixtures.runner import Pario

# fmt: off
#            transfers of each rank, and their sizes
SCALE = {
    "quick":   (4,   (32 * KiB, 1 * MiB)),
    "nightly": (32,  (1 * KiB, 32 * KiB, 1 * MiB, 4 * MiB)),
    "full":    (256, (1 * KiB, 1 * KiB + 8, 32 * KiB, 32 * KiB + 8, 1 * MiB, 1 * MiB + 8, 4 * MiB)),
}

#         name         api      pointer       coll
WAYS = [
    ("independent", "mpiio", "explicit",   False),
    ("collective",  "mpiio", "explicit",   True),
    ("view",        "mpiio", "individual", False),
    ("view-coll",   "mpiio", "individual", True),
    ("posix",       "posix", "explicit",   False),
]
# fmt: on


def layouts(transfer: int, count: int) -> dict[str, Layout]:
    """One layout of each kind that moves `count` transfers of about `transfer` bytes on each rank."""
    return {
        "segmented": Segmented(transfer * count, (transfer,), count=count),
        "strided": Strided(transfer, ncalls=count, pad=transfer // 2),
        "random": RandomSizes(0, 2 * transfer, transfers=2, strides=count // 2, seed=1),
        "general": RandomSizes(0, 2 * transfer, transfers=2, strides=count // 2, seed=2, start=777, pad=333),
    }


def rows(profile: str) -> list[Pattern]:
    """Every kind, size and way of a profile; padding is pre-sized and must stay untouched (GEN-05, GEN-06)."""
    count, sizes = SCALE[profile]
    return [
        Pattern(
            f"{kind}-{format_bytes(size).replace(' ', '')}-{way}",
            layout,
            coll,
            pointer=pointer,  # type: ignore[arg-type]
            api=api,  # type: ignore[arg-type]
            access=("write", "read"),
            open=Open(presize=kind != "segmented"),
        )
        for size in sizes
        for kind, layout in layouts(size, count).items()
        for way, api, pointer, coll in WAYS
    ]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "pattern" in metafunc.fixturenames:
        chosen = rows(metafunc.config.stash[OPTIONS].profile)
        metafunc.parametrize("pattern", chosen, ids=[pattern.name for pattern in chosen])


@pytest.mark.concise
@pytest.mark.parametrize("phase", ["write", "read"])
def test_pattern(pattern: Pattern, phase: Access, pario: Pario) -> None:
    record = pario.run(pattern, phase, rounds=3, cross=True)
    assert record.samples.moved_bytes
