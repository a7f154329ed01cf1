from __future__ import annotations

import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.model import Pattern
from pytest_pario.patterns import Segmented, chain, check, plan, views
from pytest_pario.patterns.recipe import Contiguous, View
from pytest_pario.units import KiB, MiB


def test_contiguous_regions() -> None:
    # GPFS-08, MODEL-08: Segmented(S, (S,)), task i has [i*S, (i+1)*S)
    size = 333 * MiB
    made = plan(Pattern("gpfs.cont", Segmented(size, (size,)), pointer="explicit"), 4)
    assert [table.offsets.tolist() for table in made.ranks] == [[i * size] for i in range(4)]
    assert check.is_tiling(made.ranks)


def test_b_eff_io_segments_of_a_real_run() -> None:
    # BEFF-17..19, section 10.3: LSEG 19 MiB, fill 970080 B, files of exactly n * LSEG bytes without holes
    sizes = [MiB, 2 * MiB, MiB, 32 * KiB, KiB, 32 * KiB + 8, KiB + 8, MiB + 8]
    counts = [1, 2, 4, 32, 1220, 10, 580, 6]
    used = sum(size * count for size, count in zip(sizes, counts, strict=True))
    segment = -(-used // MiB) * MiB
    assert segment == 19 * MiB
    assert segment - used == 970080
    names = [f"p{25 + i}" for i in range(9)]
    patterns = [
        Pattern(name, Segmented(segment, (size,)), etype=8, after=before)
        for name, size, before in zip(names, [*sizes, segment - used], [None, *names], strict=False)
    ]
    plans = chain(patterns, 2, [*counts, 1])
    tables = [table for made in plans for table in made.ranks]
    assert check.is_tiling(tables)
    assert check.file_size(tables) == 39845888
    assert tuple(views(plans[3], 1)) == (View(segment + 9 * MiB, Contiguous(8), 32, 8),)


def test_second_lseg_vector() -> None:
    # section 10.4
    sizes = [MiB, 2 * MiB, MiB, 32 * KiB, KiB, 32 * KiB + 8, KiB + 8, MiB + 8]
    counts = [1, 8, 20, 150, 2000, 140, 1900, 9]
    used = sum(size * count for size, count in zip(sizes, counts, strict=True))
    assert (-(-used // MiB), -used % MiB) == (59, 118776)


def test_an_empty_fill_is_still_a_call() -> None:
    # BEFF-19
    table = plan(Pattern("p33", Segmented(64, (64, 0))), 2).ranks[1]
    assert table.call_bytes.tolist() == [64, 0]
    assert table.first_offsets.tolist() == [64, 0]


def test_repetitions_stay_inside_the_segment() -> None:
    with pytest.raises(ParameterError, match="p26: repetitions = 4"):
        plan(Pattern("p26", Segmented(100, (30,))), 2, repetitions=4)


def test_file_per_process_is_sequential() -> None:
    # BEFF-16: every file begins at 0
    made = plan(Pattern("p19", Segmented(0, (24,)), files="each"), 3, repetitions=5)
    assert [table.offsets.tolist() for table in made.ranks] == [[0, 24, 48, 72, 96]] * 3


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        (lambda: Segmented(10, (4, 7)), "segmented.segment = 10.*must be 11 B or more"),
        (lambda: Segmented(10, ()), "segmented.chunks"),
        (lambda: Segmented(10, (-1,)), "segmented.chunks"),
        (lambda: Segmented(0, (4,)).at(2), "segmented.segment = 0"),
    ],
)
def test_impossible_parameters_are_named(layout: object, text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        layout()  # type: ignore[operator]
