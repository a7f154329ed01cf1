"""Options of mpi-io-test and noncontig: what they make of the rows, and what is refused."""

from __future__ import annotations

import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.model import Extents, Pattern
from pytest_pario.patterns import plan
from pytest_pario.patterns.check import file_size, is_tiling, total_bytes
from pytest_pario.units import KiB, MiB
from pytest_pario.workloads.parameters import resolve
from pytest_pario.workloads.resonance.parameters import OF_MPI_IO_TEST, OF_NONCONTIG, Choices, choose
from pytest_pario.workloads.resonance.programs import INT, VARIANTS
from pytest_pario.workloads.resonance.rows import SCALES, mpi_io_test_rows, noncontig_rows, rows
from pytest_pario.workloads.table import TABLE

RANKS = 4


def noncontig_of(*given: str, ranks: int = RANKS) -> dict[str, Pattern]:
    """Rows of the quick profile by variant, with one width of columns."""
    choices = choose(resolve(TABLE, ["noncontig_elmtcount=1024", *given]))
    found = [row.pattern for row in noncontig_rows(SCALES["quick"], ranks, choices)]
    assert [row.name for row in found] == [f"noncontig-4KiB-{variant}" for variant in VARIANTS]
    return dict(zip(VARIANTS, found, strict=True))


def table(pattern: Pattern, rank: int) -> Extents:
    return plan(pattern, RANKS).ranks[rank]


def test_nothing_given_is_the_profile() -> None:
    assert choose(resolve(TABLE)) == Choices()


# RES-35, ERR-01: one of the two; names, value, origin
@pytest.mark.parametrize(
    ("command_line", "environment", "origin"),
    [
        (["noncontig_fsize=1M", "noncontig_veccount=3"], {}, "command line"),
        (["noncontig_veccount=3"], {"NONCONTIG_FSIZE": "1M"}, "environment"),
    ],
)
def test_file_size_and_vector_count_exclude_each_other(
    command_line: list[str], environment: dict[str, str], origin: str
) -> None:
    told = f"noncontig_fsize = 1048576 \\(from {origin}\\).*left out where noncontig_veccount is given"
    with pytest.raises(ParameterError, match=told):
        choose(resolve(TABLE, command_line, environment))


@pytest.mark.parametrize("one", ["noncontig_fsize=1M", "noncontig_veccount=3"])
def test_either_of_them_may_be_given(one: str) -> None:  # RES-35
    assert choose(resolve(TABLE, [one])) != Choices()


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_a_vector_has_as_many_elements_of_each_process(ranks: int) -> None:  # RES-35, ERR-01
    assert len(noncontig_of(f"noncontig_veclen={2 * ranks}", ranks=ranks)) == len(VARIANTS)
    given = resolve(TABLE, [f"noncontig_veclen={2 * ranks + 1}"])
    told = rf"noncontig_veclen = {2 * ranks + 1} \(from command line\).*a multiple of the {ranks} processes"
    with pytest.raises(ParameterError, match=told), given.blamed({name: name for name in OF_NONCONTIG}):
        rows("quick", ranks, choose(given))


def test_vectors_that_are_moved() -> None:  # RES-34, RES-35
    # 8 elements of 4 KiB are 32 KiB, so the buffer of 1 MiB holds 32 vectors; 25 is what divides 50
    for variant, pattern in noncontig_of("noncontig_veclen=8", "noncontig_veccount=50").items():
        made = plan(pattern, RANKS)
        assert total_bytes(made.ranks) == 50 * 32 * KiB, variant
        assert is_tiling(made.ranks)
        assert made.ranks[0].call_bytes.tolist() == [25 * 8 * KiB] * 2


def test_a_file_of_a_size() -> None:  # RES-35
    for pattern in noncontig_of("noncontig_fsize=5M").values():
        assert file_size(plan(pattern, RANKS).ranks) == 5 * MiB
    # a file that is smaller than the buffer is one call
    for pattern in noncontig_of("noncontig_fsize=64K").values():
        assert plan(pattern, RANKS).ranks[0].call_bytes.tolist() == [16 * KiB]
    with pytest.raises(ParameterError, match=r"noncontig_fsize = 1024.*a vector of 16384 B"):
        noncontig_of("noncontig_fsize=1K")


def test_displacement_and_offset() -> None:  # RES-35
    plain, moved = noncontig_of(), noncontig_of("noncontig_displ=100", "noncontig_offset=2048")
    for variant in VARIANTS:
        # under a view a process leaves out ints of its own columns: two rows; else two columns' worth of the file
        skipped = 2 * RANKS * 4 * KiB if variant.endswith("-nc") else INT * 2048
        for rank in range(RANKS):
            before, after = table(plain[variant], rank), table(moved[variant], rank)
            assert (after.offsets - before.offsets == 100 + skipped).all()
            assert after.call_bytes.tolist() == before.call_bytes.tolist()
    with pytest.raises(ParameterError, match=r"noncontig_offset = 7.*whole elements of 1024 ints"):
        noncontig_of("noncontig_offset=7")


def test_sync_is_optional() -> None:  # RES-32, RES-35
    assert {row.sync for row in noncontig_of().values()} == {"none"}
    assert {row.sync for row in noncontig_of("noncontig_sync=1").values()} == {"end"}
    for given, sync in ((False, "none"), (True, "per_call")):
        found = list(mpi_io_test_rows(SCALES["quick"], RANKS, Choices(sync_each=given)))
        assert {(row.pattern.sync, row.call_barriers, row.uses) for row in found} == {(sync, True, OF_MPI_IO_TEST)}


def test_blocks_and_iterations_are_free() -> None:  # RES-32
    choices = choose(resolve(TABLE, ["mpi_io_test_block=1000", "mpi_io_test_iterations=3"]))
    (row,) = mpi_io_test_rows(SCALES["full"], RANKS, choices)
    assert row.pattern.name == "mpi-io-test-1000B"
    assert table(row.pattern, 2).offsets.tolist() == [(c * RANKS + 2) * 1000 for c in range(3)]
    # the block alone: the profile's bytes in blocks of that size
    (row,) = mpi_io_test_rows(SCALES["quick"], RANKS, Choices(block=256 * KiB))
    assert table(row.pattern, 0).call_bytes.tolist() == [256 * KiB] * 2
