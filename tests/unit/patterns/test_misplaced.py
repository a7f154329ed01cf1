"""Data that arrive in the wrong place: no two places of a file hold the same bytes, so that none of it passes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_pario.model import Layout, Memory, Pattern, Plan
from pytest_pario.patterns import (
    Block3D,
    Content,
    RandomSizes,
    Scattered,
    Segmented,
    SparseStrided,
    Strided,
    Tiles,
    chain,
    check,
    content_of,
    plan,
    verify_file,
)
from pytest_pario.patterns.expected import expect
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.stamp import PERIOD
from tests.unit.patterns.writing import write

KiB, MiB = 1 << 10, 1 << 20
SECTOR = 512

LAYOUTS: dict[str, tuple[Layout, int]] = {
    "segmented-8x1M": (Segmented(8 * MiB, (MiB,), count=8), 2),
    "segmented-64x1M": (Segmented(64 * MiB, (MiB,), count=64), 2),
    "segmented-16x4M": (Segmented(64 * MiB, (4 * MiB,), count=16), 2),
    "segmented-1K": (Segmented(4 * MiB, (KiB,), count=4096), 4),
    "strided-1K": (Strided(KiB, ncalls=4096), 4),
    "strided-32K": (Strided(32 * KiB, ncalls=1024), 4),
    "strided-1M": (Strided(MiB, ncalls=16), 8),
    "strided-4M": (Strided(4 * MiB, ncalls=16), 2),
    "strided-transfers": (Strided(4 * MiB, ncalls=4, transfer=64 * KiB), 4),
    "strided-many-chunks": (Strided(KiB, per_call=1024, ncalls=16), 4),
    "scattered-1K": (Scattered(KiB, 32768, seed=1, region=8 * MiB), 4),
    "scattered-1K-one": (Scattered(KiB, 32768, seed=1, per_call=1), 4),
    "scattered-1K-ten": (Scattered(KiB, 40000, seed=1, per_call=10), 4),
    "scattered-8K": (Scattered(8 * KiB, 4096, seed=1, per_call=16), 4),
    "scattered-sub": (Scattered(256 * KiB, 128, seed=1, sub=(32, 4096), per_call=2), 4),
    "random-sizes": (RandomSizes(1000, 300_000, 4, 20, seed=3), 4),
    "sparse": (SparseStrided(12 * KiB, 288 * KiB, 300), 4),
    "block3d": (Block3D((64, 256, 512), 4), 4),
    "tiles": (Tiles(2, 2, 512, 512, 32, 8, 8), 4),
}
each_layout = pytest.mark.parametrize("name", LAYOUTS)


def image(plans: list[Plan], content: Content) -> Bytes:
    out = np.zeros(check.file_size([table for one in plans for table in one.ranks]), dtype=np.uint8)
    expect(plans, content, 0, out.size).fill(out, 0)
    return out


def digests(data: Bytes, unit: int) -> list[bytes]:
    """What each unit holds; holes are left out."""
    whole = data[: data.size // unit * unit].reshape(-1, unit)
    return [hashlib.blake2b(one.data, digest_size=16).digest() for one in whole if one.any()]


def count_twins(*images: Bytes, unit: int = SECTOR) -> int:
    """Units that hold the same bytes as another one before them."""
    found = [digest for one in images for digest in digests(one, unit)]
    assert len(found) > 500
    return len(found) - len(set(found))


@each_layout
def test_no_two_sectors_of_a_file_are_alike(name: str) -> None:
    # GEN-02, GEN-03
    layout, n = LAYOUTS[name]
    made = plan(Pattern(name, layout), n)
    assert count_twins(image([made], content_of(made, 1))) == 0


@pytest.mark.parametrize("name", ["segmented-8x1M", "strided-1K", "strided-4M", "scattered-1K-ten", "tiles"])
def test_nor_those_of_other_generations_and_seeds(name: str) -> None:
    # GEN-02
    layout, n = LAYOUTS[name]
    made = plan(Pattern(name, layout), n)
    stamps = [content_of(made, 1), content_of(made, 1, 1), content_of(made, 1, 2), content_of(made, 2)]
    assert count_twins(*(image([made], content) for content in stamps)) == 0


@pytest.mark.parametrize("name", ["segmented-8x1M", "strided-32K", "strided-many-chunks"])
def test_nor_where_memory_has_gaps(name: str) -> None:
    # RES-37
    layout, n = LAYOUTS[name]
    made = plan(Pattern(name, layout, mem=Memory(KiB, KiB)), n)
    assert count_twins(image([made], content_of(made, 1))) == 0


BEFF_ROWS = [(MiB, 1), (2 * MiB, 1), (MiB, 2), (32 * KiB, 32), (KiB, 1024), (32776, 32), (1032, 1024), (MiB + 8, 1)]


def beff_chain(repetitions: int) -> tuple[Plan, ...]:
    """The rows of type 0 of b_eff_io in one file (BEFF-10, BEFF-13)."""
    rows = [
        Pattern(f"p{i}", Strided(l, per_call=k), True, pointer="individual", after=f"p{i - 1}" if i else None)
        for i, (l, k) in enumerate(BEFF_ROWS)  # noqa: E741 - the paper's name
    ]
    return chain(rows, 4, [repetitions] * len(rows))


def test_nor_those_of_a_chain() -> None:
    # BEFF-13: each row has streams of its own
    plans = beff_chain(5)
    out = np.zeros(check.file_size([table for one in plans for table in one.ranks]), dtype=np.uint8)
    for number, made in enumerate(plans):
        expect([made], Content(64 + number), 0, out.size).fill(out, 0)
    assert out.size > 3 * PERIOD
    assert count_twins(out) == 0


def test_a_chain_of_one_stream_shows_few_twins_beyond_a_period() -> None:
    # calls of several pieces of odd lengths fall on the same bytes of the ring by chance
    out = image(list(beff_chain(5)), Content(1))
    assert 0 < count_twins(out) < 0.01 * out.size / SECTOR
    assert count_twins(out, unit=64 * KiB) == 0
    assert count_twins(image(list(beff_chain(1)), Content(1))) == 0


def test_nor_those_of_files_of_each_rank() -> None:
    # BEFF-16
    made = plan(Pattern("each", Segmented(0, (MiB, 32776, 1032)), files="each"), 3, repetitions=5)
    images = []
    for rank in range(3):
        out = np.zeros(check.file_size([made.ranks[rank]]), dtype=np.uint8)
        expect([made], Content(1), 0, out.size, ranks=[rank]).fill(out, 0)
        images.append(out)
    assert count_twins(*images) == 0


@pytest.mark.parametrize(
    ("name", "source", "target", "size"),
    [
        # a long piece of call 0 in place of the beginning of call 1
        ("segmented-8x1M", 376_832, MiB, 671_744),
        ("segmented-8x1M", 0, 4096, 4096),
        ("segmented-8x1M", 3 * MiB, 8 * MiB, 4 * MiB),
        ("strided-4M", 3_014_656, 8_388_608, 65_536),
        ("strided-4M", 0, 54_292_480, 512),
        ("strided-32K", 0, 4 * 32 * KiB, 32 * KiB),
    ],
)
@pytest.mark.parametrize("swap", [False, True])
def test_large_pieces_in_the_wrong_place(
    name: str, source: int, target: int, size: int, swap: bool, tmp_path: Path
) -> None:
    # GEN-07
    layout, n = LAYOUTS[name]
    made = plan(Pattern(name, layout), n)
    content = content_of(made, 1)
    good = image([made], content)
    bad = good.copy()
    bad[target : target + size] = good[source : source + size]
    if swap:
        bad[source : source + size] = good[target : target + size]
    damage = verify_file(write(tmp_path / "file", bad), made, content)
    assert damage is not None
    first = min(source, target) if swap else target
    assert first <= damage.offset < first + 8
    # one byte in 256 is right by chance
    assert damage.bad_bytes > 0.98 * size * (1 + swap)
    assert "offset" in damage.guess


@pytest.fixture(scope="module")
def striped() -> Bytes:
    layout, n = LAYOUTS["strided-transfers"]
    made = plan(Pattern("x", layout), n)
    return image([made], content_of(made, 1))


@settings(max_examples=100, deadline=None)
@given(unit=st.sampled_from([512, 4096, 65536]), data=st.data())
def test_any_two_units_differ_almost_everywhere(unit: int, data: st.DataObject, striped: Bytes) -> None:
    # GEN-07
    places = st.integers(0, striped.size // unit - 1)
    one, other = data.draw(st.lists(places, min_size=2, max_size=2, unique=True))
    same = striped[one * unit :][:unit] == striped[other * unit :][:unit]
    assert np.count_nonzero(same) < 0.05 * unit
