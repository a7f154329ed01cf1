"""BTIO of the NAS Parallel Benchmarks: a flow solver that writes its solution every five steps.

`solved` computes the fields, `replay` writes fields of the same size and order without computing them. Every field is
read back from cold caches and compared with what was written, and with the published norms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_pario.model import Access
from pytest_pario.patterns.multipartition import largest_square
from pytest_pario.session.keys import OPTIONS, SESSION
from pytest_pario.workloads.btio.classes import CLASSES, find_class

if TYPE_CHECKING:
    from pytest_pario.fixtures.btio import Btio

pytestmark = pytest.mark.pario_timeout(nightly=7200, full=7200)

OUTPUT = ("full", "simple", "fortran", "epio")
SOLVED = ("none", *OUTPUT)

Row = tuple[str, str, tuple[str, ...], tuple[str, ...]]

# fmt: off
#   class     mode      subtypes   phases
QUICK: list[Row] = [
    ("S",  "solved",    SOLVED,    ("write",)),
    ("A",  "replay",    OUTPUT,    ("write",)),
    ("A",  "replay",    ("full",), ("read",)),
]
NIGHTLY: list[Row] = [
    *QUICK,
    ("W",  "solved",    SOLVED,    ("write",)),
    ("A",  "solved",    SOLVED,    ("write",)),
    ("B",  "replay",    OUTPUT,    ("write", "read")),
    ("C",  "replay",    OUTPUT,    ("write", "read")),
]
FULL: list[Row] = [
    *((name, "solved",  SOLVED,    ("write",))        for name in CLASSES),
    *((name, "replay",  OUTPUT,    ("write", "read")) for name in CLASSES),
]
# fmt: on
PROFILES = {"quick": QUICK, "nightly": NIGHTLY, "full": FULL}


def rows(profile: str) -> list[tuple[str, str, str, Access]]:
    """Class, mode, subtype and phase of each test of a profile."""
    return [
        (name, mode, subtype, phase)  # type: ignore[misc]
        for name, mode, subtypes, phases in PROFILES[profile]
        for subtype in subtypes
        for phase in phases
    ]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    session = metafunc.config.stash.get(SESSION, None)
    ranks = largest_square(session.size if session else 1)
    params = [
        pytest.param(*row, marks=pytest.mark.pario_ranks(min(ranks, find_class(row[0]).most_per_edge ** 2)))
        for row in rows(metafunc.config.stash[OPTIONS].profile)
    ]
    metafunc.parametrize(("name", "mode", "subtype", "phase"), params)


@pytest.mark.concise
def test_btio(name: str, mode: str, subtype: str, phase: Access, btio: Btio) -> None:
    result = btio(name, subtype, mode, phase)
    # class F has no published mean of norms: its output can be compared with what was written, and with that only
    assert all(one.holds for one in result.comparisons if one.expected is not None), result.comparisons
