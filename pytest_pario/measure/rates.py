"""Rates of a record by both rules of aggregation, from its samples alone (CONS-31, CONS-37, CONS-38). Pure."""

from __future__ import annotations

import math

from pytest_pario.measure.spread import JobTime, describe
from pytest_pario.model import Samples
from pytest_pario.units import MiB


def rates_of(samples: Samples, *, clocks_agree: bool) -> dict[str, object]:
    """MiB/s of every round: `rate_max` over the slowest rank's time, `rate_span` over latest stop - earliest start.

    `rate_span` is None where the clocks of the hosts cannot be compared, or one was set back meanwhile.
    """
    slowest: list[float | None] = []
    span: list[float | None] = []
    for moved, elapsed_s, span_s in zip(samples.moved_bytes, samples.elapsed_s, samples.span_s, strict=True):
        job = JobTime(span_s if clocks_agree and span_s >= 0 else None, elapsed_s)
        slowest.append(_finite(job.rate_max(moved / MiB)))
        span.append(_finite(job.rate_span(moved / MiB)))
    return {
        "unit": "MiB/s",
        "rate_max": slowest,
        "rate_span": span if clocks_agree else None,
        "over_rounds": _describe(slowest),
    }


def _describe(rates: list[float | None]) -> dict[str, float | int | None] | None:
    """How the rounds were combined: least, mean, highest, deviation (CONS-07, CONS-32, CONS-33)."""
    known = [rate for rate in rates if rate is not None]
    return describe(known).plain() if known else None


def _finite(rate: float | None) -> float | None:
    """JSON has no infinity; a round that took no time has no rate."""
    return rate if rate is not None and math.isfinite(rate) else None
