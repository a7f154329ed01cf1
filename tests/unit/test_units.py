"""GEN-01: raw bytes and seconds are kept, rates derived; nothing is rounded on the way."""

from __future__ import annotations

import pytest

from pytest_pario.units import GiB, KiB, MiB, format_bytes, mib_per_s


def test_small_runs_have_a_rate() -> None:  # GEN-01: the byte count is not rounded first
    assert mib_per_s(2400, 1.0) == pytest.approx(0.002288818359375)
    assert mib_per_s(1, 0.0) == float("inf")


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1032, "1.01 KiB"), (32 * KiB, "32 KiB"), (MiB, "1 MiB"), (3 * GiB // 2, "1.5 GiB"), (999, "999 B")],
)
def test_sizes_in_words(count: int, text: str) -> None:
    assert format_bytes(count) == text
