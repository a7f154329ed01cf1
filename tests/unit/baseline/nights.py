"""Made-up nights for tests: whole files of a store, with a fall where one is wanted."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pytest_pario.baseline.store import Store
from pytest_pario.units import MiB

MOVED = 64 * MiB
FIRST = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


def entry(name: str, rates: list[float], phase: str = "read", **facts: Any) -> dict[str, Any]:
    """A benchmark as pytest-benchmark writes it, with our record."""
    data = [MOVED / (rate * MiB) for rate in rates]
    fingerprint = {"filesystem_type": "lustre", "mount_point": "/scratch", "ranks_per_node": 2, "kernel": "6.1"}
    record = {
        "pattern": {"name": name, "layout": {"name": "strided"}},
        "phase": phase,
        "fingerprint": {**fingerprint, **facts},
        "facts": {"synced": phase != "read", "loop": "compiled", "cache": {"state": "cold"}},
    }
    middle = float(np.median(data))
    stats = {"data": data, "min": min(data), "max": max(data), "mean": middle, "median": middle, "ops": 1 / middle}
    stats |= {"stddev": 0.0, "rounds": len(data), "iqr": 0.0, "total": sum(data), "iterations": 1}
    return {
        "group": phase,
        "name": f"test[{name}-{phase}]",
        "fullname": f"suites/test_it.py::test[{name}-{phase}]",
        "params": None,
        "param": None,
        "options": {},
        "stats": stats,
        "extra_info": {"ranks": 4, "moved_bytes": [MOVED] * len(data), "record": record},
    }


def content(entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {"machine_info": {}, "commit_info": {}, "benchmarks": entries, "datetime": "2026", "version": "5.1"}


def save_nights(
    root: Path,
    nights: int,
    factor: Callable[[int, int], float] = lambda night, test: 1.0,
    facts: Callable[[int], Mapping[str, Any]] = lambda night: {},
    tests: int = 6,
    noise: float = 0.03,
    seed: int = 1,
    machine: str = "box",
    step: datetime.timedelta = datetime.timedelta(days=1),
) -> Store:
    """Nights of `tests` series; `factor(night, test)` scales a rate, `facts(night)` are settings of that night."""
    rng, store = np.random.default_rng(seed), Store(root, machine)
    for night in range(nights):
        entries = []
        for test in range(tests):
            level = (500 + 100 * test) * factor(night, test) * np.exp(rng.normal(0, noise))
            rates = [float(level * np.exp(rng.normal(0, 0.02))) for _ in range(5)]
            entries.append(entry(f"p{test}", rates, **facts(night)))
        store.save_night(content(entries), FIRST + night * step)
    return store


def scale_entry(one: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """The same benchmark `factor` times as fast."""
    scaled: dict[str, Any] = copy.deepcopy(dict(one))
    scaled["stats"]["data"] = [seconds / factor for seconds in scaled["stats"]["data"]]
    return scaled
