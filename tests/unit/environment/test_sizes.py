from __future__ import annotations

import pytest

from pytest_pario.environment.sizes import parse_bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4194304", 4194304),
        ("512k", 512 << 10),
        ("512K", 512 << 10),
        ("1M", 1 << 20),
        ("64MB", 64 << 20),
        ("4MiB", 4 << 20),
        ("1.5 GiB", 3 << 29),
        ("16G", 16 << 30),
        ("2T", 2 << 40),
        ("50%", None),
        ("", None),
        ("unlimited", None),
        ("-1", None),
    ],
)
def test_spellings(text: str, size: int | None) -> None:
    assert parse_bytes(text) == size
