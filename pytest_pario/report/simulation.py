"""What the model of striped storage says, as tables and plots in characters. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_pario.units import MB, format_bytes

MARKS = "oxs+*#@%"
SHORT = {"independent": "non", "collective": "coll", "resonant": "res", "data_shipping": "ship"}


def label(scheme: str, n: int) -> str:
    """Name of a column, such as `non-4`."""
    return f"{SHORT.get(scheme, scheme)}-{n}"


def format_sweeps(sweeps: Mapping[tuple[str, int], Mapping[int, float]], title: str = "MB/s") -> list[str]:
    """One line per segment size, one column per scheme and number of processes; the best of a column is marked."""
    names = [label(*key) for key in sweeps]
    width = max(8, *(len(name) + 1 for name in names))
    lines = [f"{title:<10}" + "".join(f"{name:>{width}}" for name in names)]
    best = {key: max(rates, key=rates.__getitem__) for key, rates in sweeps.items()}
    for size in sorted({size for rates in sweeps.values() for size in rates}):
        cells = (
            f"{rates[size] / MB:.0f}{'*' if best[key] == size else ' '}".rjust(width) for key, rates in sweeps.items()
        )
        lines.append(f"{format_bytes(size):<10}" + "".join(cells))
    return lines


def format_spread(sweeps: Mapping[tuple[str, int], Mapping[int, Sequence[float]]], title: str) -> list[str]:
    """The same table with the least and the most over the seeds: where they differ, the order of arrival decides."""
    names = [label(*key) for key in sweeps]
    lines = [f"{title:<10}" + "".join(f"{name:>9}" for name in names)]
    for size in sorted({size for rates in sweeps.values() for size in rates}):
        cells = (f"{min(rates[size]) / MB:.0f}-{max(rates[size]) / MB:.0f}".rjust(9) for rates in sweeps.values())
        lines.append(f"{format_bytes(size):<10}" + "".join(cells))
    return lines


def format_plot(
    series: Mapping[str, Mapping[int, float]], unit: str, rows: int = 12, step: int = 8, show: str = "bytes"
) -> list[str]:
    """Curves in characters over an axis of equal steps; `show` says how the axis is labelled."""
    places = sorted({x for points in series.values() for x in points})
    top = max((y for points in series.values() for y in points.values()), default=0.0) or 1.0
    canvas = [[" "] * (len(places) * step) for _ in range(rows)]
    for mark, points in zip(MARKS * len(series), series.values(), strict=False):
        for x, y in points.items():
            row = rows - 1 - min(rows - 1, int(y / top * (rows - 0.001)))
            column = places.index(x) * step + step // 2
            # curves that meet stand side by side
            while column < len(canvas[row]) - 1 and canvas[row][column] != " ":
                column += 1
            canvas[row][column] = mark
    lines = [f"{top * (rows - number) / rows:8.3g} |{''.join(line).rstrip()}" for number, line in enumerate(canvas)]
    labels = [format_bytes(x).replace(" ", "") if show == "bytes" else f"{x:g}" for x in places]
    lines.append(" " * 9 + "+" + "-" * (len(places) * step))
    lines.append(" " * 10 + "".join(text.center(step) for text in labels).rstrip())
    legend = "  ".join(f"{mark} {name}" for mark, name in zip(MARKS * len(series), series, strict=False))
    return [*lines, f"{unit}: {legend}"]


def format_grid(head: str, columns: Sequence[str], rows: Mapping[str, Sequence[float]], digits: int = 2) -> list[str]:
    """A plain table of numbers: a line per name, a column per heading."""
    width = max(10, *(len(column) + 2 for column in columns))
    first = max(len(head), *(len(name) for name in rows)) + 2
    lines = [f"{head:<{first}}" + "".join(f"{column:>{width}}" for column in columns)]
    lines += [
        f"{name:<{first}}" + "".join(f"{value:>{width}.{digits}f}" for value in values) for name, values in rows.items()
    ]
    return lines
