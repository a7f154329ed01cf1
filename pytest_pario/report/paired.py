"""The table of `pario ab`."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_pario.baseline.paired import Paired

ORDER = ("slower", "undecided", "faster", "same")


def paired_lines(a: str, b: str, tests: Sequence[Paired], confidence: float) -> list[str]:
    """Worst first: rates of both, B over A with its interval, and what it means."""
    width = max((len(test.name) for test in tests), default=4)
    lines = [
        f"A: {a}",
        f"B: {b}",
        f"{'':<{width}}  {'pairs':>5}  {'A MiB/s':>9}  {'B MiB/s':>9}  B against A, {confidence:.1%} interval",
    ]
    for test in sorted(tests, key=lambda test: (ORDER.index(test.decision), test.ratio)):
        change, low, high = (100 * (value - 1) for value in (test.ratio, test.low, test.high))
        lines.append(
            f"{test.name:<{width}}  {test.pairs:>5}  {test.first:>9.1f}  {test.second:>9.1f}  "
            f"{change:+.1f} % [{low:+.1f},{high:+.1f}] {test.decision}"
        )
    return lines
