from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.model import Damage, Pattern
from pytest_pario.patterns import RandomSizes, Strided, content_of, plan, verify_records
from pytest_pario.patterns.pieces import Bytes
from tests.unit.patterns.writing import pieces, write

MADE = plan(Pattern("shared", Strided(200, ncalls=6), pointer="shared"), 3)
CONTENT = content_of(MADE, 9)


def records() -> list[Bytes]:
    found = [piece.data for piece in pieces(MADE, CONTENT)]
    order = np.random.default_rng(0).permutation(len(found))
    return [found[i] for i in order]


def verified(tmp_path: Path, data: list[Bytes]) -> Damage | None:
    return verify_records(write(tmp_path / "file", np.concatenate(data)), MADE, CONTENT)


def test_records_may_come_in_any_order(tmp_path: Path) -> None:
    assert verified(tmp_path, records()) is None


def test_a_torn_record(tmp_path: Path) -> None:
    data = records()
    data[4] = np.concatenate((data[4][:150], data[5][150:]))
    damage = verified(tmp_path, data)
    assert damage is not None
    assert 950 <= damage.offset < 1000
    assert "torn" in damage.guess
    assert damage.rank is not None
    assert damage.call is not None


def test_a_record_that_came_twice(tmp_path: Path) -> None:
    data = records()
    lost, data[7] = data[7], data[2]
    damage = verified(tmp_path, data)
    assert damage is not None
    assert (damage.offset, damage.actual, damage.expected) == (1400, int(data[2][0]), int(lost[0]))
    missing = next(piece for piece in pieces(MADE, CONTENT) if np.array_equal(piece.data, lost))
    assert (damage.rank, damage.call) == (missing.rank, missing.call)
    assert damage.bad_bytes == 200


def test_a_missing_record(tmp_path: Path) -> None:
    damage = verified(tmp_path, records()[:-1])
    assert damage is not None
    assert (damage.offset, damage.actual, damage.bad_bytes) == (3400, None, 200)


def test_a_truncated_record(tmp_path: Path) -> None:
    data = records()
    damage = verified(tmp_path, [*data[:-1], data[-1][:-1]])
    assert damage is not None
    assert (damage.offset, damage.actual, damage.bad_bytes) == (3599, None, 1)


def test_a_record_too_many(tmp_path: Path) -> None:
    damage = verified(tmp_path, [*records(), np.ones(200, dtype=np.uint8)])
    assert damage is not None
    assert (damage.offset, damage.expected, damage.rank, damage.bad_bytes) == (3600, None, None, 200)


def test_more_records_than_slots_may_be_alike(tmp_path: Path) -> None:
    made = plan(Pattern("many", Strided(8, ncalls=5000), pointer="shared"), 2)
    content = content_of(made, 9)
    data = np.concatenate([piece.data for piece in pieces(made, content)])
    assert verify_records(write(tmp_path / "file", data), made, content) is None


def test_records_have_one_size(tmp_path: Path) -> None:
    made = plan(Pattern("odd", RandomSizes(1, 9, strides=4)), 2)
    with pytest.raises(ParameterError, match="odd: layout"):
        verify_records(tmp_path / "file", made, content_of(made, 1))
