"""Recorded nights for `pario bench verdict`: CSV files that are given by path, or shipped with the package."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pytest_pario.baseline.statistics import Bools, Floats, Ints
from pytest_pario.errors import ParameterError

NIGHTLY = ("system", "fs", "app", "share", "op", "nprocs", "t", "gib", "MiBps")
"""Columns of a file with one run a night."""
REPEATED = ("night", "rep", "fs", "pattern", "mode", "op", "MiBps")
"""Columns of a file with several repetitions a night."""
LEAST_NIGHTS = 200
"""Series of a nightly file with fewer nights are left out."""
HALF_THE_VOLUME = 0.5
"""A run that moved less than this part of the series' usual volume has no rate: bytes are checked before speed."""
DAY_S = 86400


@dataclass(frozen=True, eq=False)
class Nights:
    """Logarithms of rates, shape (nights, series), and what the series are."""

    name: str
    labels: tuple[str, ...]
    """One word per series, sorted."""
    groups: Ints
    """Number of each series' group: filesystem and direction."""
    group_labels: tuple[str, ...]
    logs: Floats
    """Of each night's median; NaN where there is none."""
    repetitions: tuple[Floats, ...] = ()
    """Of every repetition, shape (nights, repetitions), one array per series; empty where there is one run a night."""
    dates: tuple[str, ...] = ()

    @property
    def tuning(self) -> Bools:
        """The half on which constants were chosen: the series of even place in the sorted list of labels."""
        result: Bools = np.arange(len(self.labels)) % 2 == 0
        return result


def read_nights(directory: Path) -> list[Nights]:
    """All CSV files of a directory that have the columns of either kind."""
    paths = sorted(directory.glob("*.csv")) if directory.is_dir() else []
    found = [nights for path in paths if (nights := read_file(path)) is not None]
    if not found:
        columns = f"{','.join(NIGHTLY)} or {','.join(REPEATED)}"
        raise ParameterError(
            "--data", str(directory), f"a directory with a CSV file of columns {columns}", "command line"
        )
    return found


def read_file(path: Path) -> Nights | None:
    """One file; None where its columns are neither kind."""
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        names = set(reader.fieldnames or ())
        if names >= set(NIGHTLY):
            return _nightly(path.name, reader)
        return _repeated(path.name, reader) if names >= set(REPEATED) else None


def _nightly(name: str, rows: Iterable[Mapping[str, str]]) -> Nights:
    series: dict[tuple[str, ...], dict[int, list[tuple[float, float]]]] = {}
    for row in rows:
        if row["fs"]:
            key = tuple(row[part] for part in ("system", "fs", "app", "share", "op", "nprocs"))
            day = int(float(row["t"]) // DAY_S)
            series.setdefault(key, {}).setdefault(day, []).append((float(row["MiBps"] or 0), float(row["gib"] or 0)))
    series = {key: days for key, days in series.items() if len(days) >= LEAST_NIGHTS}
    if not series:
        raise ParameterError(name, 0, f"one or more series with a filesystem and {LEAST_NIGHTS} nights", "data file")
    first, last = min(map(min, series.values())), max(map(max, series.values()))
    keys = sorted(series)
    logs = np.full((last - first + 1, len(keys)), np.nan)
    for column, key in enumerate(keys):
        usual_gib = np.median([np.median([gib for _, gib in runs]) for runs in series[key].values()])
        for day, runs in series[key].items():
            rates = [rate for rate, gib in runs if rate > 0 and gib > HALF_THE_VOLUME * usual_gib]
            if rates:
                logs[day - first, column] = np.log(np.median(rates))
    epoch = datetime.date(1970, 1, 1)
    dates = tuple(str(epoch + datetime.timedelta(days=first + night)) for night in range(len(logs)))
    return _named(name, keys, lambda key: f"{key[1]} {key[4]}", logs, (), dates)


def _repeated(name: str, rows: Iterable[Mapping[str, str]]) -> Nights:
    values: dict[tuple[str, ...], dict[tuple[int, int], float]] = {}
    for row in rows:
        key = tuple(row[part] for part in ("fs", "pattern", "mode", "op"))
        values.setdefault(key, {})[int(row["night"]), int(row["rep"])] = float(row["MiBps"])
    keys = sorted(values)
    nights = 1 + max(night for one in values.values() for night, _ in one)
    count = 1 + max(rep for one in values.values() for _, rep in one)
    tables = []
    for key in keys:
        table = np.full((nights, count), np.nan)
        for (night, rep), rate in values[key].items():
            table[night, rep] = np.log(rate) if rate > 0 else np.nan
        tables.append(table)
    logs = np.column_stack([np.nanmedian(table, axis=1) for table in tables])
    return _named(name, keys, lambda key: f"{key[0]} {key[3]}", logs, tuple(tables), ())


def _named(  # noqa: PLR0917 - as many as the noun has fields
    name: str,
    keys: list[tuple[str, ...]],
    group_of: Callable[[tuple[str, ...]], str],
    logs: Floats,
    repetitions: tuple[Floats, ...],
    dates: tuple[str, ...],
) -> Nights:
    group_labels = sorted({group_of(key) for key in keys})
    groups = np.array([group_labels.index(group_of(key)) for key in keys])
    return Nights(name, tuple("/".join(key) for key in keys), groups, tuple(group_labels), logs, repetitions, dates)
