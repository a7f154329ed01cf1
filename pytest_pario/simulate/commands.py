"""What `pario simulate` runs: plain numbers, which the report makes lines of."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_pario.errors import ParameterError
from pytest_pario.schemes.resonance import peak_segment
from pytest_pario.simulate.experiments import Interference, interfere, scaling
from pytest_pario.simulate.storage import Storage

PAUSES = (1.0, 0.3, 0.1, 0.03, 0.0)
COUNTS = (1, 2, 4, 8, 16, 32, 64)
BOTH = ("resonant", "collective")


def seeds_of(count: int) -> tuple[int, ...]:
    """Seeds 1 to count."""
    if count < 1:
        raise ParameterError("--seeds", count, "1 or more", "command line")
    return tuple(range(1, count + 1))


def expected_peaks(storage: Storage, processes: Sequence[int]) -> dict[int, float]:
    """The segment at which each number of processes should be fastest: N*s = M*u (RES-41)."""
    return {n: peak_segment(n, storage.unit, storage.nodes) for n in processes}


def interference_rows(storage: Storage) -> dict[str, list[Interference]]:
    """Both schemes beside a program that computes less and less."""
    return {scheme: [interfere(scheme, pause, storage) for pause in PAUSES] for scheme in BOTH}


def scaling_rows(storage: Storage, counts: Sequence[int] = COUNTS) -> dict[str, dict[int, float]]:
    """Both schemes and independent calls on more and more processes."""
    return {scheme: scaling(scheme, counts, storage) for scheme in (*BOTH, "independent")}
