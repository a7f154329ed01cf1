"""What `pario simulate` runs: plain numbers, which the report makes lines of."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_pario.errors import ParameterError
from pytest_pario.schemes.resonance import peak_segment
from pytest_pario.simulate.experiments import Interference, guidance, interfere, scaling
from pytest_pario.simulate.storage import Storage

PAUSES = (1.0, 0.3, 0.1, 0.03, 0.0)
COUNTS = (1, 2, 4, 8, 16, 32, 64)
MAX_ACCS = (0, 1, 2, 4, 8)
"""Of the access-range hint; 0 gives none (GPFS-25)."""
TASKS = (1, 2, 4, 8)
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


def guidance_rows(storage: Storage, processes: Sequence[int] = TASKS) -> dict[int, dict[int, float]]:
    """The access-range benchmark by max_acc and number of processes: time without the hint over time with it."""
    plain = {n: guidance(0, storage, n).seconds for n in processes}
    return {acc: {n: plain[n] / guidance(acc, storage, n).seconds for n in processes} for acc in MAX_ACCS if acc}


def scaling_rows(storage: Storage, counts: Sequence[int] = COUNTS) -> dict[str, dict[int, float]]:
    """Both schemes and independent calls on more and more processes."""
    return {scheme: scaling(scheme, counts, storage) for scheme in (*BOTH, "independent")}
