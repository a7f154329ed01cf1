"""Statistics of samples and rates of a job: both forms of the variance, both rules of aggregation. Pure.

The Consortium divides by N (CONS-33), mpi-tile-io and the GPFS report by N - 1 (GPFS-44). Both are computed and named,
and each suite prints its own (OQ-3). Likewise the time of a job is latest stop - earliest start (`span`, CONS-31) or
the longest time of one process (CONS-37); both rates are computed (CONS-38, OQ-16).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_pario.errors import ParameterError
from pytest_pario.model import Spread


@dataclass(frozen=True)
class Statistics:
    """Least, mean, most and variance of some numbers, in their unit and its square."""

    count: int
    least: float
    mean: float
    most: float
    variance_population: float
    """Mean squared deviation from the mean: divisor N (CONS-33)."""
    variance_sample: float | None
    """Divisor N - 1 (GPFS-44); None of a single number, for which it is undefined."""

    @property
    def deviation_population(self) -> float:
        """Square root of the population variance (CONS-33)."""
        return math.sqrt(self.variance_population)

    @property
    def deviation_sample(self) -> float | None:
        """Square root of the sample variance (GPFS-44); None of a single number."""
        return None if self.variance_sample is None else math.sqrt(self.variance_sample)

    def plain(self) -> dict[str, float | int | None]:
        """All of it under names that say which variance is which, for JSON."""
        return {
            "count": self.count,
            "min": self.least,
            "mean": self.mean,
            "max": self.most,
            "variance_population": self.variance_population,
            "variance_sample": self.variance_sample,
            "deviation_population": self.deviation_population,
            "deviation_sample": self.deviation_sample,
        }


def describe(values: Sequence[float]) -> Statistics:
    """Statistics of one or more finite numbers, to the last digits also where they differ little."""
    count = len(values)
    if not count or not all(map(math.isfinite, values)):
        raise ParameterError("values", values, "one or more finite numbers", "samples")
    least, most = min(values), max(values)
    # a mean of equal numbers may come out one unit in the last place beside them
    mean = min(max(math.fsum(values) / count, least), most)
    residues = [value - mean for value in values]
    # sum (x - m)^2 - (sum (x - m))^2 / N: the second term takes out the rounding of the mean
    squares = max(0.0, math.fsum(r * r for r in residues) - math.fsum(residues) ** 2 / count)
    return Statistics(count, least, mean, most, squares / count, squares / (count - 1) if count > 1 else None)


def spread_of(seconds: Sequence[float]) -> Spread:
    """Seconds of one phase over the processes, with the variance of the Consortium (CONS-34)."""
    found = describe(seconds)
    return Spread(found.least, found.mean, found.most, found.variance_population)


def highest_rate(rates: Sequence[float]) -> float:
    """The highest rate over the iterations of a test, its capability under best conditions (CONS-32)."""
    if not rates:
        raise ParameterError("rates", rates, "one or more", "samples")
    return max(rates)


@dataclass(frozen=True)
class Interval:
    """When one process began and ended a phase, by a clock that may differ between hosts, and how long it took."""

    start_s: float
    stop_s: float
    elapsed_s: float

    def __post_init__(self) -> None:
        if self.elapsed_s < 0:
            raise ParameterError("elapsed_s", self.elapsed_s, "0 or more", "samples")


@dataclass(frozen=True)
class JobTime:
    """How long a phase took over all processes, by both rules."""

    span_s: float | None
    """Latest stop - earliest start (CONS-31); None where clocks are not known to agree (CONS-38)."""
    slowest_s: float
    """Longest time of one process (CONS-37)."""

    def rate_span(self, amount: float) -> float | None:
        """Transfer rate: amount over the span, per second (CONS-38)."""
        return None if self.span_s is None else _per_second(amount, self.span_s)

    def rate_max(self, amount: float) -> float:
        """Aggregate throughput: amount over the slowest process's time, per second (CONS-37, CONS-38)."""
        return _per_second(amount, self.slowest_s)


def job_time(intervals: Sequence[Interval], *, clocks_agree: bool) -> JobTime:
    """Time of a phase that these processes went through; the span only where their clocks agree."""
    if not intervals:
        raise ParameterError("intervals", intervals, "one or more", "samples")
    span_s = max(one.stop_s for one in intervals) - min(one.start_s for one in intervals)
    # a wall clock that was set back meanwhile gives no span
    return JobTime(span_s if clocks_agree and span_s >= 0 else None, max(one.elapsed_s for one in intervals))


def efficiencies(rates: Mapping[int, float]) -> dict[int, float | None]:
    """rate(n) / (n * rate(1)) for each number of clients n; None where there is no rate of one client (CONS-09)."""
    alone = rates.get(1)
    return {n: rate / (n * alone) if alone else None for n, rate in rates.items()}


def _per_second(amount: float, elapsed_s: float) -> float:
    return amount / elapsed_s if elapsed_s > 0 else math.inf
