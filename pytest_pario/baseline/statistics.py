"""Statistics of nights as pure functions of arrays: rows are nights, columns are tests, NaN is no value."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

IQR_OF_NORMAL = 1.349
"""Interquartile range of a normal distribution of standard deviation 1."""


def quantiles(values: Floats, at: tuple[float, ...], axis: int = 0) -> Floats:
    """Linear quantiles along an axis without its NaNs, shape (len(at), ...); NaN where nothing is left."""
    ordered = np.moveaxis(np.sort(values, axis=axis), axis, -1)  # NaNs go last
    count = np.isfinite(ordered).sum(axis=-1)
    place = np.maximum(count - 1, 0) * np.reshape(at, (-1,) + (1,) * count.ndim)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(count - 1, 0))
    low, high = (np.take_along_axis(ordered[None], index[..., None], axis=-1)[..., 0] for index in (below, above))
    result: Floats = low + (high - low) * (place - below)
    return result


def median(values: Floats, axis: int = 0) -> Floats:
    """Median along an axis without its NaNs."""
    result: Floats = quantiles(values, (0.5,), axis)[0]
    return result


def centre_and_spread(values: Floats, floor: float = 0.0) -> tuple[Floats, Floats]:
    """Median and robust standard deviation of each column: the interquartile range over 1.349, at least `floor`."""
    low, middle, high = quantiles(values, (0.25, 0.5, 0.75))
    return middle, np.maximum((high - low) / IQR_OF_NORMAL, floor)


def trailing_median(values: Floats, nights: int, least: int) -> Floats:
    """Median of the `nights` nights before each night; NaN where fewer than `least` of them have a value."""
    rows, columns = values.shape
    padded = np.vstack([np.full((nights, columns), np.nan), values])
    windows = sliding_window_view(padded, nights, axis=0)[:rows]
    result = median(np.ascontiguousarray(windows), axis=2)
    result[np.isfinite(windows).sum(axis=2) < least] = np.nan
    return result


def fill_forward(values: Floats) -> Floats:
    """Each NaN replaced by the last value above it in its column; NaN where there is none."""
    last = np.maximum.accumulate(np.where(np.isfinite(values), np.arange(len(values))[:, None], 0), axis=0)
    return np.take_along_axis(values, last, axis=0)


def recent_median(values: Floats, nights: int) -> Floats:
    """Median of each night and the `nights - 1` before it."""
    padded = np.vstack([values, np.full((1, values.shape[1]), np.nan)])
    return trailing_median(padded, nights, 1)[1:]


def median_of_others(values: Floats, least: int) -> Floats:
    """For each column the median of all other columns, night by night; NaN with fewer than `least` others."""
    rows, columns = values.shape
    order = np.argsort(values, axis=1, kind="stable")  # NaNs last
    ordered = np.take_along_axis(values, order, axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(columns), (rows, columns)), axis=1)
    others = np.isfinite(values).sum(axis=1)[:, None] - np.isfinite(values)
    # without the element of rank r, element i of the rest is the one at i, or at i + 1 from r on
    found = np.zeros((rows, columns))
    for place in (np.maximum(others - 1, 0) // 2, others // 2):
        found += np.take_along_axis(ordered, np.minimum(place + (place >= rank), columns - 1), axis=1) / 2
    return np.where(others >= least, found, np.nan)


def control_of(logs: Floats, groups: Ints, nights: int, least: int, peers: int, *, out: Bools | None = None) -> Floats:
    """c[t] = median over the other tests of a group of (their x[t] - their own median of the nights before).

    Nights in `out` are in no such median: through them, and where they leave too few nights, the last one stands.
    """
    before = trailing_median(logs if out is None else np.where(out, np.nan, logs), nights, least)
    if out is not None and out.any():
        before = fill_forward(np.where(out, np.nan, before))
    # the first nights have too few before them: their reference is the median of the first ones together
    first = median(compress(logs)[0][:least])
    deviation = logs - np.where(np.isfinite(before), before, first)
    control = np.full_like(logs, np.nan)
    for group in np.unique(groups):
        members = groups == group
        control[:, members] = median_of_others(deviation[:, members], peers)
    return control


def compress(values: Floats) -> tuple[Floats, Ints, Ints]:
    """Move each column's nights with a value to the top: values, their original rows (-1 for none), and how many."""
    empty = ~np.isfinite(values)
    order = np.argsort(empty, axis=0, kind="stable")
    count = (~empty).sum(axis=0)
    top = np.arange(len(values))[:, None] < count
    return np.where(top, np.take_along_axis(values, order, axis=0), np.nan), np.where(top, order, -1), count


def last_kept(values: Floats, kept: Bools, nights: int) -> Floats:
    """The last `nights` kept values of each column, the others NaN."""
    usable = kept & np.isfinite(values)
    rank_from_end = np.cumsum(usable[::-1], axis=0)[::-1]
    return np.where(usable & (rank_from_end <= nights), values, np.nan)


def date_step(values: Floats, centre: float) -> int:
    """First index of the part that left `centre`: the split with the least sum of absolute residuals."""
    costs = []
    before = np.concatenate([[0.0], np.cumsum(np.abs(values - centre))])
    for split in range(len(values)):
        after = values[split:]
        costs.append(before[split] + np.abs(after - np.median(after)).sum())
    return int(np.argmin(costs))


def student_quantile(probability: float, freedom: float) -> float:
    """Quantile of Student's t by Hill's expansion; the error is below 1 % from 4 degrees of freedom on."""
    z = NormalDist().inv_cdf(probability)
    g1 = (z**3 + z) / 4
    g2 = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    g3 = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + g1 / freedom + g2 / freedom**2 + g3 / freedom**3


SMALL = {1: 2.4, 2: 2.0, 3: 1.5, 4: 1.2}
"""By how much an interval from fewer than five nights is widened; found by resampling recorded nights."""


def widened_tail(confidence: float, before: int, after: int) -> float:
    """The percentile at which a bootstrap of so few nights has the coverage it states.

    A percentile interval takes the normal quantile where Student's belongs:
    alpha' = Phi(-k * t(1 - alpha/2, n1 + n2 - 2)).
    """
    quantile = student_quantile(0.5 + confidence / 2, max(before + after - 2, 3))
    return NormalDist().cdf(-SMALL.get(min(before, after), 1.0) * quantile)


def bootstrap_shift(
    before: Floats, after: Floats, confidence: float, resamples: int, seed: int
) -> tuple[float, float, float]:
    """Shift of the location between two sets of nights, with an interval from resampling nights of each set."""
    before, after = before[np.isfinite(before)], after[np.isfinite(after)]
    rng = np.random.default_rng(seed)
    shift = locate(after[None])[0] - locate(before[None])[0]
    drawn = locate(after[rng.integers(0, len(after), (resamples, len(after)))]) - locate(
        before[rng.integers(0, len(before), (resamples, len(before)))]
    )
    tail = widened_tail(confidence, len(before), len(after))
    low, high = np.quantile(drawn, (tail, 1 - tail))
    return float(shift), float(low), float(high)


def locate(values: Floats) -> Floats:
    """Location of each row: the mean of its middle half, which bootstraps more smoothly than the median."""
    ordered = np.sort(values, axis=1)
    cut = ordered.shape[1] // 4
    result: Floats = ordered[:, cut : ordered.shape[1] - cut].mean(axis=1)
    return result
