"""Rows of a box in a row-major array of any dimension, as extents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_pario.model import Int64


def box_rows(sizes: Sequence[int], starts: Sequence[int], subsizes: Sequence[int], element: int) -> tuple[Int64, Int64]:
    """Offsets and lengths of the rows of the box at `starts` of shape `subsizes`, ascending; shape (rows,) each."""
    if min(subsizes) <= 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # offset = element * (... ((i0 * g1 + i1) * g2 + i2) ...), Horner over the dimensions, all rows at once
    index = np.zeros(1, dtype=np.int64)
    for width, first, count in zip(sizes[:-1], starts[:-1], subsizes[:-1], strict=True):
        index = ((index * width)[:, None] + np.arange(first, first + count)).ravel()
    offsets = (index * sizes[-1] + starts[-1]) * element
    return offsets, np.full(offsets.size, subsizes[-1] * element, dtype=np.int64)
