"""How many ranks take part: partitions of b_eff_io and the sweep over clients."""

from __future__ import annotations

from math import floor, log2

from pytest_pario.errors import ParameterError


def beff_partitions(size: int) -> tuple[int, ...]:
    """Small, medium and large partition of `size` processes, ascending and without repetition (BEFF-45, BEFF-46)."""
    if size < 1:
        raise ParameterError("size", size, "1 or more processes")
    # small = 2^round(0.35 * log2 SIZE), medium = 2^round(0.70 * log2 SIZE), half goes up
    small, medium = (2 ** floor(share * log2(size) + 0.5000001) for share in (0.35, 0.70))
    small = 1 if size == 3 else small
    medium = 3 if size == 4 else medium
    return tuple(sorted({small, medium, size})) if size > 2 else tuple(range(1, size + 1))


def client_sweep(size: int) -> tuple[int, ...]:
    """1, 2, 4, … and `size` itself (CONS-09)."""
    if size < 1:
        raise ParameterError("size", size, "1 or more processes")
    return (*(1 << power for power in range((size - 1).bit_length())), size)
