from __future__ import annotations

import numpy as np
import pytest

from pytest_pario.patterns import Files
from pytest_pario.workloads.consortium.contents import SHARED, Contents


@pytest.mark.parametrize("size", [5, 64, 4000, SHARED // 2, SHARED + 100])
def test_no_two_files_are_alike_and_no_byte_is_zero(size: int) -> None:
    # GEN-02; more files than share one stream
    many = max(1, SHARED // (-(-size // 64) * 64))
    contents = Contents(Files(many + 3, size), clients=2)
    indices = sorted({0, 1, 2, many - 1, many, many + 2})
    found = [contents.of(rank, index) for rank in (0, 1) for index in indices]
    assert len({one.tobytes() for one in found}) == len(found)
    assert all(one.size == size and one.all() for one in found)


def test_no_two_sectors_of_files_are_alike() -> None:
    # GEN-02: wherever the filesystem puts a sector of another file, it is noticed
    contents = Contents(Files(3000, 2048), clients=2)
    sectors = [contents.of(rank, index).reshape(-1, 512) for rank in (0, 1) for index in range(3000)]
    assert len(np.unique(np.concatenate(sectors)[:, :16].copy().view("V16"))) == 2 * 3000 * 4


def test_data_are_aligned_and_depend_on_the_seed() -> None:
    # GEN-03
    one, other = (Contents(Files(3, 100), 1, seed).of(0, 2) for seed in (1, 2))
    assert one.ctypes.data % 64 == 0
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (lambda data: data[:700] + b"\0" + data[701:], "f: 1 wrong byte, first at offset 700: expected 0x"),
        (lambda data: data[:700] + b"\0" + data[701:], "rank 1 writes here (call 2); these are the bytes of no file"),
        (lambda data: data[:-1], "first at offset 999: expected 0x"),
        (lambda data: data[:-1], "found end of file; rank 1 writes here (call 3); the file has 999 B, 1000 B were"),
        (lambda data: data + b"x", "1 wrong byte, first at offset 1000: expected end of file, found 0x78; nobody"),
        (lambda data: b"", "1000 wrong bytes, first at offset 0"),
        (lambda data: bytes(1000), "1000 wrong bytes, first at offset 0"),
    ],
)  # fmt: skip
def test_damage_is_described(harm, sentence: str) -> None:  # type: ignore[no-untyped-def]
    # GEN-07
    contents = Contents(Files(5, 1000, transfer=300), clients=2)
    found = np.frombuffer(harm(contents.of(1, 3).tobytes()), dtype=np.uint8)
    assert sentence in str(contents.compare("f", 1, 3, found))


def test_swapped_files_are_told_apart() -> None:
    # GEN-07
    contents = Contents(Files(5, 1000), clients=2)
    assert contents.compare("f", 1, 3, contents.of(1, 3)) is None
    damage = contents.compare("f", 1, 3, contents.of(0, 4))
    assert damage is not None
    assert damage.guess == "these are the bytes of rank00000.000004"


def test_empty_files() -> None:
    contents = Contents(Files(2, 0), clients=1)
    assert contents.compare("f", 0, 1, np.empty(0, np.uint8)) is None
    assert contents.compare("f", 0, 1, np.ones(1, np.uint8)) is not None
