"""The exact solution, the initial state, and everything that depends on the place of a point alone (BT §3, §4).

The exact solution is a sum of one quartic in each coordinate, so that a field is three short tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

# fmt: off
#    1    x    y    z    x2   y2   z2   x3   y3    z3    x4   y4   z4
COEFFICIENTS: Floats = np.array((
    (2, 0, 0, 4, 5, 3, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3),
    (1, 0, 0, 0, 1, 2, 3, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5),
    (2, 2, 0, 0, 0, 2, 3, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4),
    (2, 2, 0, 0, 0, 2, 3, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3),
    (5, 4, 3, 2, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2),
))
# fmt: on
AXES = 3


@dataclass(frozen=True, eq=False)
class Separable:
    """A field x[i] + y[j] + z[k] with five components; each table has the shape (points, 5)."""

    x: Floats
    y: Floats
    z: Floats

    def plane(self, k: int) -> Floats:
        """The field at z index k, shape (y, x, 5)."""
        made: Floats = self._sheet() + self.z[k]
        return made

    def planes(self) -> Planes:
        """Planes one after the other, at the speed of memory."""
        return Planes(self._sheet(), self.z)

    def _sheet(self) -> Floats:
        sheet: Floats = self.y[:, None, :] + self.x[None, :, :]
        return sheet

    def part(self, starts: Sequence[int], shape: Sequence[int]) -> Separable:
        """The same field on a box; starts and shape in the order x, y, z."""
        cuts = [slice(first, first + count) for first, count in zip(starts, shape, strict=True)]
        return Separable(self.x[cuts[0]], self.y[cuts[1]], self.z[cuts[2]])

    def __add__(self, other: Separable) -> Separable:
        return Separable(self.x + other.x, self.y + other.y, self.z + other.z)


@dataclass(frozen=True, eq=False)
class Planes:
    """Makes planes of a separable field with one addition per number."""

    sheet: Floats
    """x[i] + y[j], shape (y, x, 5)."""
    z: Floats

    def fill(self, k: int, out: Floats) -> None:
        """Write plane k, shape (y, x, 5), into contiguous memory."""
        rows, row = out.shape[0], out.shape[1] * out.shape[2]
        np.add(self.sheet.reshape(rows, row), np.tile(self.z[k], out.shape[1]), out=out.reshape(rows, row))


def coordinates(size: int) -> Floats:
    """0 to 1 in equal steps."""
    return np.arange(size, dtype=np.float64) * (1.0 / (size - 1))


def quartics(axis: int, at: Floats) -> Floats:
    """The part of the exact solution that depends on one coordinate, without the constant; shape (points, 5)."""
    a2, a5, a8, a11 = (COEFFICIENTS[:, 1 + axis + 3 * power] for power in range(4))
    t = at[:, None]
    found: Floats = t * (a2 + t * (a5 + t * (a8 + t * a11)))
    return found


def exact_solution(size: int) -> Separable:
    """The exact solution on the whole grid."""
    at = coordinates(size)
    x, y, z = (quartics(axis, at) for axis in range(AXES))
    return Separable(COEFFICIENTS[:, 0] + x, y, z)


def initial_plane(exact: Separable, k: int, ys: slice, xs: slice) -> Floats:
    """The state before the first step at z index k, on a part of the plane, shape (y, x, 5).

    It is blended from the six faces of the exact solution, which it equals on the faces themselves.
    """
    size = len(exact.z)
    at, last = coordinates(size), size - 1
    x, y, z = exact.x[None, xs], exact.y[ys, None], exact.z[k]
    whole: Floats = y + x + z
    xi, eta, zeta = at[None, xs, None], at[ys, None, None], at[k]
    p = xi * (y + exact.x[last] + z) + (1 - xi) * (y + exact.x[0] + z)
    q = eta * (exact.y[last] + x + z) + (1 - eta) * (exact.y[0] + x + z)
    r = zeta * (y + x + exact.z[last]) + (1 - zeta) * (y + x + exact.z[0])
    blended = p + q + r - p * q - p * r - q * r + p * q * r
    inner = np.arange(size) % last != 0
    is_inner = inner[k] & inner[None, xs, None] & inner[ys, None, None]
    return np.where(is_inner, blended, whole)
