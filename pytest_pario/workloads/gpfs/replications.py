"""Seven replications in one figure: maximum or mean, sample sigma, and what was left out. Pure (GPFS-05, 44, 45)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_pario.errors import ParameterError
from pytest_pario.measure.spread import describe
from pytest_pario.workloads.gpfs.rows import Summary


@dataclass(frozen=True)
class Replications:
    """Rates of a test over its replications."""

    kept: tuple[float, ...]
    """MB/s that count, in the order measured."""
    dropped: tuple[float, ...]
    """MB/s that were left out because the user said so."""
    summary: Summary

    @property
    def figure(self) -> float:
        """The reported one: the maximum, or the mean."""
        return max(self.kept) if self.summary == "maximum" else describe(self.kept).mean

    @property
    def sigma(self) -> float | None:
        """Sample standard deviation; None of a single replication, for which it is undefined."""
        return describe(self.kept).deviation_sample

    def plain(self) -> dict[str, object]:
        """As plain data for the record."""
        return {
            "summary": self.summary,
            "figure_mb_s": self.figure,
            "sigma_mb_s": self.sigma,
            "replications": len(self.kept),
            "dropped_mb_s": list(self.dropped),
        }


def sum_up(rates: Sequence[float], summary: Summary, drop_lowest: int = 0) -> Replications:
    """Sum up; outliers are left out only where the user asks for it, and are named."""
    if not 0 <= drop_lowest < len(rates):
        allowed = f"0 to {len(rates) - 1}, so that one of the {len(rates)} replications is left"
        raise ParameterError("gpfs_drop", drop_lowest, allowed)
    lowest = sorted(range(len(rates)), key=lambda number: rates[number])[:drop_lowest]
    kept = tuple(rate for number, rate in enumerate(rates) if number not in lowest)
    return Replications(kept, tuple(rates[number] for number in sorted(lowest)), summary)
