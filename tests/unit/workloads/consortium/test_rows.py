"""The rows of the pattern suite with and without parameters of the user."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.model import Pattern
from pytest_pario.patterns import Segmented, Strided, check, plan
from pytest_pario.units import KiB, MiB
from pytest_pario.workloads.consortium.rows import SCALE, Row, check_together, rows
from pytest_pario.workloads.parameters import Parameters, resolve
from pytest_pario.workloads.table import TABLE


def given(*pairs: str, **environment: str) -> Parameters:
    return resolve(TABLE, pairs, environment)


def row(name: str, *pairs: str) -> Row:
    (found,) = [one for one in rows("quick", given(*pairs)) if one.name == name]
    return found


def pattern(name: str, *pairs: str) -> Pattern:
    found = row(name, *pairs).pattern
    assert found is not None
    return found


@pytest.mark.parametrize("n", [1, 3, 4])
def test_segmented(n: int) -> None:
    # CONS-10: client c owns [c*b, (c+1)*b), moved in k transfers at c*b + j*t; the n blocks together are one segment
    t, k = 32 * KiB, 4
    work = plan(pattern("segmented-32KiB-independent"), n)
    for c, table in enumerate(work.ranks):
        assert table.offsets.tolist() == [c * k * t + j * t for j in range(k)]
        assert set(table.lengths.tolist()) == {t}
    assert check.is_tiling(work.ranks)
    assert work.pattern.access == ("write", "read")
    assert work.pattern.files == "shared"


def test_words_mean_what_the_proposal_says() -> None:  # CONS-23
    n, t, b, g, m = 3, 4 * KiB, 12 * KiB, 1000, 5
    asked = [f"transfer_size={t}", f"block_size={b}", f"padding={g}", f"segments={m}"]
    tables = plan(pattern("strided-4KiB-independent", *asked), n).ranks
    # CONS-17: a transfer is what one call moves
    assert all(table.call_bytes.tolist() == [t] * (m * b // t) for table in tables)
    # CONS-18: a block is what one client has without a gap
    starts = tables[1].offsets[:: b // t]
    assert tables[1].offsets.tolist() == [start + j * t for start in starts.tolist() for j in range(b // t)]
    # CONS-19: a segment is the blocks of all clients without a gap; CONS-20: padding is what nobody touches after it
    holes, lengths = check.find_holes(tables)
    assert holes.tolist() == [q * (n * b + g) + n * b for q in range(m - 1)]
    assert set(lengths.tolist()) == {g}
    # CONS-21: the stride is segment and padding
    assert set(np.diff(starts).tolist()) == {n * b + g}


def test_random_and_general_take_their_parameters() -> None:  # CONS-12, CONS-13
    asked = ["min_transfer=10", "max_transfer=20", "segments=3", "padding=7", "header_bytes=100", "seed=5"]
    for kind in ("random", "general"):
        tables = plan(pattern(f"{kind}-1MiB-posix", *asked), 2).ranks
        sizes = np.concatenate([table.lengths for table in tables])
        assert ((sizes >= 10) & (sizes <= 20)).all()
        holes, lengths = check.find_holes(tables)
        assert (holes[0], lengths.tolist()) == (0, [100, 7, 7])
        assert all(table.call_count == 3 * 2 for table in tables)
    other = plan(pattern("random-1MiB-posix", *asked[:-1], "seed=6"), 2).ranks
    assert not check.are_equal(other[0], tables[0])


def test_a_header_shifts_the_segmented_pattern_too() -> None:  # CONS-55
    moved = pattern("segmented-32KiB-independent", "header_bytes=777")
    plain = pattern("segmented-32KiB-independent")
    assert isinstance(moved.layout, Strided)
    assert isinstance(plain.layout, Segmented)
    for c in range(3):
        assert check.are_equal(plan(moved, 3).ranks[c], plan(plain, 3).ranks[c].shifted(777))
    assert moved.open.presize  # the header must stay untouched


def test_a_transfer_size_takes_the_place_of_all_sizes() -> None:  # CONS-51
    found = rows("full", given("transfer_size=64K"))
    assert len(found) == 4 * 5
    assert all("-64KiB-" in one.name for one in found)
    assert rows("full", given(TRANSFER_SIZE="64K")) != found  # the origin differs
    whole = pattern("segmented-1MiB-independent", "transfer_size=0", "block_size=3M")
    assert plan(whole, 2).ranks[0].call_bytes.tolist() == [3 * MiB]


def test_a_row_keeps_the_parameters_that_it_uses() -> None:  # CONS-54
    found = row("strided-1MiB-collective", "padding=5", "overlap_x=3", "min_transfer=1").given.plain()
    assert found["padding"] == {"value": 5, "origin": "command line"}
    assert found["transfer_size"] == {"value": MiB, "origin": "suite table"}
    assert found["collective"] == {"value": True, "origin": "suite table"}
    assert set(found) == {"transfer_size", "block_size", "segments", "padding", "header_bytes", "collective"}


def test_rows_that_become_impossible_say_why() -> None:  # CONS-22
    found = [one for one in rows("full", given("block_size=1M")) if one.problem]
    # 4 MiB, and the three sizes with 8 bytes more, do not divide a block of 1 MiB; random patterns have no blocks
    assert len(found) == 4 * 2 * 5
    assert all(
        one.problem.startswith("block_size = 1048576 (from command line): must be a whole number of transfers of")
        for one in found
    )
    assert not any(one.problem for one in rows("full", given()))


def test_collective_chooses_rows() -> None:  # CONS-55
    left = [one for one in rows("quick", given("collective=1")) if not one.problem]
    assert {one.name.split("KiB-")[-1].split("MiB-")[-1] for one in left} == {"collective", "view-coll"}
    told = row("segmented-1MiB-posix", "collective=1").problem
    assert told == "collective = True (from command line) leaves out independent calls"


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        (
            ["block_size=10", "transfer_size=3"],  # CONS-22
            "block_size = 10 (from command line): must be a whole number of transfers of 3 B (transfer_size)",
        ),
        (
            ["min_transfer=9", "max_transfer=8"],
            "min_transfer = 9 (from command line): must be at most the largest transfer of 8 B",
        ),
    ],
)
def test_what_the_user_gave_must_fit_together(pairs: list[str], sentence: str) -> None:  # ERR-01
    with pytest.raises(ParameterError) as caught:
        check_together(given(*pairs))
    assert str(caught.value) == sentence
    check_together(given(*pairs[:1]))


@pytest.mark.parametrize("profile", SCALE)
def test_one_row_of_each_kind_is_concise(profile: str) -> None:  # CONS-01
    concise = Counter(one.name.split("-")[0] for one in rows(profile, given()) if one.is_concise)
    assert concise == {"segmented": 1, "strided": 1, "random": 1, "general": 1}
    assert sum(one.is_concise for one in rows(profile, given("transfer_size=64K"))) == 4
