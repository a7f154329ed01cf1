from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_pario.errors import ParameterError, VerificationError
from pytest_pario.model import Damage, Memory, Pattern
from pytest_pario.patterns import (
    Content,
    Segmented,
    Strided,
    Tiles,
    chain,
    check,
    content_of,
    merge,
    plan,
    verify,
    verify_file,
)
from tests.unit.patterns.layout_cases import Case, cases
from tests.unit.patterns.writing import LAYOUTS, N, chosen, image, pieces, planned, write

each_layout = pytest.mark.parametrize("name", LAYOUTS)


# --- sizes, holes, parts ---


def test_a_file_that_is_too_long(tmp_path: Path) -> None:
    made = planned("strided")
    content = content_of(made, 9)
    data = image(made, content)
    long = np.concatenate((data, np.array([5, 6], dtype=np.uint8)))
    damage = verify_file(write(tmp_path / "long", long), made, content)
    assert damage is not None
    assert (damage.offset, damage.expected, damage.actual, damage.bad_bytes) == (data.size, None, 5, 2)
    assert damage.rank is None
    assert "longer" in damage.guess


def test_a_missing_and_an_empty_file(tmp_path: Path) -> None:
    made = planned("strided")
    content = content_of(made, 9)
    missing = verify_file(tmp_path / "none", made, content)
    assert missing is not None
    assert (missing.offset, missing.bad_bytes, missing.rank) == (0, 4 * 1032 * 40, 0)
    assert missing.guess == "the file does not exist"
    (tmp_path / "empty").touch()
    empty = verify_file(tmp_path / "empty", made, content)
    assert empty is not None
    assert (empty.offset, empty.actual, empty.bad_bytes) == (0, None, 4 * 1032 * 40)


@pytest.mark.parametrize("background", [0, 0xEE])
def test_holes_are_preserved_where_the_file_existed(background: int, tmp_path: Path) -> None:
    # GEN-05, GEN-06
    made = planned("padded")
    content = content_of(made, 9)
    data = image(made, content, background)
    hole = int(check.find_holes(made.ranks)[0][1])
    path = write(tmp_path / "file", data)
    assert verify_file(path, made, content, background=background) is None
    data[hole] = 0x55
    damage = verify_file(write(path, data), made, content, background=background)
    assert damage is not None
    assert (damage.offset, damage.expected, damage.actual, damage.rank) == (hole, background, 0x55, None)
    assert "nobody writes here" in str(damage)


def test_holes_of_new_files_are_undefined(tmp_path: Path) -> None:
    # GEN-05
    made = planned("padded")
    content = content_of(made, 9)
    data = image(made, content, 0xAB)
    assert verify_file(write(tmp_path / "file", data), made, content) is None
    assert verify_file(tmp_path / "file", made, content, background=0xEE) is not None


def test_data_that_strayed_into_a_hole_are_recognised(tmp_path: Path) -> None:
    made = planned("padded")
    content = content_of(made, 9)
    data = image(made, content, 0xEE)
    target = chosen(made)
    data[target.offset + 300 : target.offset + 350] = data[target.offset : target.offset + 50]
    damage = verify_file(write(tmp_path / "file", data), made, content, background=0xEE)
    assert damage is not None
    assert damage.rank is None
    assert f"data of rank 2 of offset {target.offset}, displaced by +300 bytes" in damage.guess


def test_a_presized_file_has_exactly_that_size(tmp_path: Path) -> None:
    made = planned("padded")
    content = content_of(made, 9)
    data = np.concatenate((image(made, content), np.zeros(150, dtype=np.uint8)))
    path = write(tmp_path / "file", data)
    assert verify_file(path, made, content, size=data.size, background=0) is None
    damage = verify_file(path, made, content, size=data.size + 1, background=0)
    assert damage is not None
    assert (damage.offset, damage.expected, damage.actual, damage.rank) == (data.size, 0, None, None)


@each_layout
def test_parts_are_disjoint_and_complete(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GEN-04: each of k ranks checks 1/k, in regions of any size
    monkeypatch.setattr(verify, "REGION", 5000)
    made = planned(name)
    content = content_of(made, 9)
    good = image(made, content)
    bad = good.copy()
    rng = np.random.default_rng(1)
    written = np.concatenate(
        [np.arange(o, o + s) for t in made.ranks for o, s in zip(t.offsets, t.lengths, strict=True)]
    )
    places = np.unique(rng.choice(written, 20))
    bad[places] ^= 0xFF
    path = write(tmp_path / "file", bad)
    for k in (1, 2, 3, 7):
        parts = [verify_file(path, made, content, part=(i, k)) for i in range(k)]
        whole = merge(parts)
        assert whole is not None
        assert (whole.offset, whole.bad_bytes) == (int(places[0]), places.size)
    assert all(verify_file(write(path, good), made, content, part=(i, 3)) is None for i in range(3))


def test_impossible_parts() -> None:
    for part in ((1, 1), (-1, 2), (0, 0)):
        with pytest.raises(ParameterError, match="part"):
            verify.share(10, *part)


def test_missing_bytes_belong_to_the_parts_that_miss_them(tmp_path: Path) -> None:
    made = planned("segmented")
    content = content_of(made, 9)
    path = write(tmp_path / "file", image(made, content)[:60000])
    parts = [verify_file(path, made, content, part=(i, 4)) for i in range(4)]
    assert parts[0] is None
    assert [damage.bad_bytes for damage in parts[1:] if damage] == [20000, 40000, 40000]


# --- kinds of content ---


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases, generation=st.integers(0, 2), repetitions=st.integers(1, 2), data=st.data())
def test_any_layout_verifies_and_any_wrong_byte_is_found(
    case: Case, generation: int, repetitions: int, data: st.DataObject, tmp_path: Path
) -> None:
    made = plan(case.pattern(), case.n, repetitions if case.repeats else 1)
    content = content_of(made, 5, generation)
    found = image(made, content)
    path = write(tmp_path / "file", found)
    assert verify_file(path, made, content) is None
    if not case.total:
        return
    rank = data.draw(st.sampled_from([r for r in range(case.n) if made.ranks[r].total_bytes]))
    extent = data.draw(st.integers(0, len(made.ranks[rank].offsets) - 1))
    place = int(made.ranks[rank].offsets[extent])
    found[place] ^= data.draw(st.integers(1, 255))
    damage = verify_file(write(path, found), made, content)
    assert damage is not None
    assert (damage.offset, damage.bad_bytes) == (place, 1)


def test_overlapping_tiles_verify_whoever_wins(tmp_path: Path) -> None:
    # CONS-65
    made = plan(Pattern("tiles", Tiles(2, 2, 20, 10, 3, 4, 3, 777)), 4)
    content = content_of(made, 3)
    forwards = image(made, content, 0xEE)
    backwards = np.full_like(forwards, 0xEE)
    for piece in reversed(list(pieces(made, content))):
        backwards[piece.offset : piece.offset + piece.data.size] = piece.data
    assert np.array_equal(forwards, backwards)
    assert verify_file(write(tmp_path / "file", forwards), made, content, background=0xEE) is None


@pytest.mark.parametrize("name", ["strided", "segmented", "padded"])
def test_gaps_in_memory(name: str, tmp_path: Path) -> None:
    # RES-37: memory and file may each be contiguous or not
    piece = {"strided": 129, "segmented": 100, "padded": 60}[name]
    made = plan(Pattern(name, LAYOUTS[name], mem=Memory(piece, 7)), N)
    content = content_of(made, 9)
    data = image(made, content)
    assert verify_file(write(tmp_path / "file", data), made, content) is None
    contiguous = replace(made.pattern, mem=Memory())
    assert verify_file(tmp_path / "file", plan(contiguous, N), content) is not None


def test_a_file_of_each_rank(tmp_path: Path) -> None:
    # section 6: each file is verified by another rank than its writer
    made = plan(Pattern("each", Segmented(0, (1000, 24)), files="each"), 3, repetitions=3)
    content = content_of(made, 9)
    mine = [p for p in pieces(made, content) if p.rank == 1]
    data = np.concatenate([p.data for p in mine])
    path = write(tmp_path / "file.1", data)
    assert verify_file(path, made, content, rank=1) is None
    damage = verify_file(path, made, content, rank=2)
    assert damage is not None
    assert (damage.rank, damage.offset) == (2, 0)
    assert "data of rank 1 of offset 0" in damage.guess
    assert "ranks swapped" in damage.guess
    assert verify_file(path, made, content, rank=0, writer=1) is None


def test_chains_are_verified_as_one_file(tmp_path: Path) -> None:
    # MODEL-04
    rows = [Pattern("a", Strided(100, per_call=3)), Pattern("b", Strided(32), after="a")]
    plans = chain(rows, 3, [2, 5])
    content = Content(9)
    data = np.zeros(3 * 600 + 3 * 160, dtype=np.uint8)
    for made in plans:
        for piece in pieces(made, content):
            data[piece.offset : piece.offset + piece.data.size] = piece.data
    path = write(tmp_path / "file", data)
    assert verify_file(path, plans, content) is None
    data[1900] = 0
    damage = verify_file(write(path, data), plans, content)
    assert damage is not None
    assert (damage.offset, damage.rank, damage.call) == (1900, 0, 1)


def test_foreign_data_are_called_so(tmp_path: Path) -> None:
    made = planned("segmented")
    other = image(made, replace(content_of(made, 9, 1), seed=8))
    damage = verify_file(write(tmp_path / "file", other), made, content_of(made, 9, 1))
    assert damage is not None
    assert damage.guess == "none of the stamps of this run"


def test_a_prefilled_piece_was_never_written(tmp_path: Path) -> None:
    made = planned("segmented")
    content = content_of(made, 9)
    bad = image(made, content, 0xEE, lambda p: None if p.rank == 3 else p)
    damage = verify_file(write(tmp_path / "file", bad), made, content, background=0xEE)
    assert damage is not None
    assert (damage.rank, damage.bad_bytes) == (3, int(np.count_nonzero(image(made, content)[120000:] != 0xEE)))
    assert "bytes of 0xee only" in damage.guess


def test_displaced_by_a_block(tmp_path: Path) -> None:
    made = planned("scattered")
    content = content_of(made, 9)
    target = next(p for p in pieces(made, content) if p.rank == 0 and p.extent == 10)
    good = image(made, content)
    bad = good.copy()
    bad[target.offset + 512 : target.offset + 1024] = target.data
    damage = verify_file(write(tmp_path / "file", bad), made, content)
    assert damage is not None
    assert damage.offset == target.offset + 512
    assert f"of offset {target.offset}" in damage.guess
    assert "by +512 bytes" in damage.guess


@pytest.mark.parametrize("by", [-8, 8])
def test_a_shift_inside_a_long_call(by: int, tmp_path: Path) -> None:
    # a call of several periods holds each byte of its stream more than once; the nearest is meant
    made = plan(Pattern("long", Segmented(1 << 20, (1 << 20,))), 2)
    content = content_of(made, 9)
    good = image(made, content)
    bad = good.copy()
    bad[700_000:800_000] = good[700_000 - by : 800_000 - by]
    damage = verify_file(write(tmp_path / "file", bad), made, content)
    assert damage is not None
    assert (damage.offset, damage.rank) == (700_000, 0)
    assert f"the rank's own data of offset {700_000 - by}, shifted by {by:+d} bytes" in damage.guess


def test_the_error_carries_the_damage() -> None:
    # ERR-08
    damage = Damage("f", 7, 1, 2, 3, 4, 5, "why")
    error = VerificationError("strided-32k/write", damage)
    assert error.damage is damage
    assert str(error) == (
        "strided-32k/write: f: 3 wrong bytes, first at offset 7: expected 0x01, found 0x02; "
        "rank 4 writes here (call 5); why"
    )


def test_merging_nothing() -> None:
    assert merge([None, None]) is None
