"""Rates against clients."""

from __future__ import annotations

from pytest_pario.report.clients import client_rows, format_clients
from pytest_pario.units import MiB


def entry(clients: int, moved: int, sweep: str = "strided-write") -> dict[str, object]:
    return {"sweep": sweep, "ranks": clients, "moved_bytes": [moved] * 3}


def test_rate_and_efficiency() -> None:  # CONS-09: rate(n) / (n * rate(1))
    found = [
        *client_rows(entry(2, 300 * MiB), [2.0, 1.0, 4.0]),
        *client_rows(entry(1, 100 * MiB), [1.0, 1.0, 1.0]),
        *client_rows(entry(4, 100 * MiB, "alone"), [1.0] * 3),
        *client_rows({"ranks": 2, "moved_bytes": [1]}, [1.0]),
    ]
    lines = [line.split() for line in format_clients(found)]
    assert lines == [
        ["pattern", "clients", "MiB/s", "efficiency"],
        ["strided-write", "1", "100.0", "100%"],
        ["strided-write", "2", "150.0", "75%"],
    ]


def test_no_table_without_a_sweep() -> None:
    assert format_clients(client_rows(entry(4, MiB), [1.0])) == []
