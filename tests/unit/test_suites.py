"""The suites as tables: what the Consortium asks of a set of tests is true of the rows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

from pytest_pario.model import Pattern
from pytest_pario.patterns import plan
from pytest_pario.units import MiB
from pytest_pario.workloads.consortium.class_rows import class_rows
from pytest_pario.workloads.consortium.rows import rows
from pytest_pario.workloads.parameters import resolve
from pytest_pario.workloads.resonance.rows import rows as programs
from pytest_pario.workloads.table import TABLE

ROOT = Path(__file__).parents[2]
SUITES = ("test_consortium_patterns", "test_consortium_classes", "test_consortium_files")


def patterns(profile: str) -> list[Pattern]:
    return [row.pattern for row in rows(profile, resolve(TABLE)) if row.pattern is not None]


@cache
def collected(*options: str) -> tuple[str, ...]:
    """Names of tests of the Consortium's suites that pytest chooses on one rank."""
    files = [str(ROOT / "suites" / f"{name}.py") for name in SUITES]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *options, *files]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "COLUMNS": "250"},
    )
    return tuple(line.split("::")[1] for line in done.stdout.splitlines() if "::test_" in line)


@pytest.mark.parametrize("profile", ["quick", "nightly", "full"])
def test_every_kind_exists_in_every_way(profile: str) -> None:
    ways: dict[str, set[tuple[str, str, bool]]] = defaultdict(set)
    for row in patterns(profile):
        ways[row.layout.name].add((row.api, row.pointer, row.coll))
        assert row.access == ("write", "read")
        assert row.files == "shared"
    assert set(ways) == {"segmented", "strided", "random_sizes"}
    for found in ways.values():
        # CONS-16: collective and independent, view and explicit; CONS-03: MPI-IO and POSIX
        assert {("mpiio", pointer, coll) for pointer in ("explicit", "individual") for coll in (True, False)} <= found
        assert ("posix", "explicit", False) in found


@pytest.mark.parametrize("profile", ["quick", "nightly", "full"])
def test_every_contiguous_test_exists_in_both_interfaces(profile: str) -> None:  # CONS-03
    found: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for row in class_rows(profile, resolve(TABLE)):
        assert row.pattern is not None
        # the quick profile has one size by POSIX
        size = row.given.whole("transfer_size") if profile != "quick" else 0
        found[row.asked, row.pattern.open.prealloc, size].add(row.pattern.api)
    assert all(apis == {"mpiio", "posix"} for apis in found.values())
    if profile != "full":
        names = [f"segmented{api}-{phase}" for api in ("", "-posix") for phase in ("write", "read")]
        sweep = {f"test_clients[1-clients-{name}]" for name in names}
        assert sweep <= set(collected(f"--pario-profile={profile}"))


def test_rows_are_small_tests_of_one_thing_each() -> None:  # CONS-04
    found = patterns("quick")
    assert len({row.id for row in found}) == len({row.name for row in found}) == len(found)
    for row in found:
        bytes_of_a_rank = plan(row, 4).ranks[0].total_bytes
        assert bytes_of_a_rank <= 16 * MiB


@pytest.mark.parametrize("profile", ["quick", "nightly"])
def test_every_test_belongs_to_one_of_two_sets(profile: str) -> None:  # CONS-01
    option = f"--pario-profile={profile}"
    everything = collected(option)
    concise, extended = collected(option, "-m", "concise"), collected(option, "-m", "extended")
    assert Counter(concise + extended) == Counter(everything)
    # at a glance: one size and one way of each kind, written and read; the rest is for the search
    assert len(concise) < len(extended)
    shown = {name.replace("1-clients-", "") for name in concise if name.startswith("test_pattern")}
    kinds = ("segmented", "strided", "random", "general")
    assert shown == {f"test_pattern[{kind}-1MiB-independent-{phase}]" for kind in kinds for phase in ("write", "read")}


# CONS-05: each region that the Consortium wants covered, and a test of it
REGIONS = [
    ("interactive use", "test_interactive[1-clients-copy-tree]"),
    ("large contiguous, POSIX", "test_pattern[segmented-1MiB-posix-write]"),
    ("large contiguous, MPI-IO", "test_pattern[segmented-1MiB-independent-write]"),
    ("many small files", "test_small_files[1-clients-4096-0-shared-create]"),
    ("noncontiguous with derived datatypes", "test_pattern[strided-1MiB-view-read]"),
    ("noncontiguous with derived datatypes, tiles", "test_tile_io[0-read]"),
    ("large contiguous, collective", "test_pattern[segmented-1MiB-collective-write]"),
    ("small contiguous, collective", "test_pattern[segmented-32KiB-collective-write]"),
    ("large noncontiguous, collective", "test_pattern[strided-1MiB-view-coll-write]"),
]


@pytest.mark.parametrize(("region", "test"), REGIONS, ids=[region for region, _ in REGIONS])
def test_regions_are_covered(region: str, test: str) -> None:
    assert test in collected(), region


def test_programs_that_the_consortium_names_are_drawn_on() -> None:  # CONS-06
    assert "test_tile_io[0-write]" in collected()  # mpi-tile-io
    assert any(row.pattern.name.startswith("ior") for row in programs("quick", 4))
    assert (ROOT / "suites" / "test_beffio.py").exists()
    # mib: large contiguous streams; the program itself was not to be found
    assert "mib" in (ROOT / "docs" / "known-limitations.md").read_text()


def test_there_is_no_score() -> None:  # CONS-02: rates of tests, never one number for a system
    from pytest_pario.report import bandwidth

    lines = bandwidth.format_rows([bandwidth.BandwidthRow("a", 2, (1.0, 2.0)), bandwidth.BandwidthRow("b", 2, (3.0,))])
    assert len(lines) == 1 + 2


def test_rows_speak_one_language() -> None:  # CONS-08: rows are plain data that other runs can be merged with
    from pytest_pario.patterns import pattern_from_json, to_json

    for row in patterns("quick"):
        again = pattern_from_json(to_json(row))
        assert isinstance(again, Pattern)
        assert again.id == row.id


# CONS-75: which rule comes from which proposal
PROPOSALS = [
    ("B. Loewe, 2002-04-23", ("access patterns", "terms")),
    ("R. Ross, 2002-03-15", ("parameters", "hints", "timing", "throughput", "performance classes")),
]


@pytest.mark.parametrize(("proposal", "subjects"), PROPOSALS)
def test_the_documentation_names_the_proposals(proposal: str, subjects: tuple[str, ...]) -> None:
    text = (ROOT / "docs" / "measuring.md").read_text()
    told = [line.lower() for line in text.splitlines() if line.startswith("|") and proposal in line]
    for subject in subjects:
        assert any(subject in line for line in told), f"{subject}: {proposal}"
