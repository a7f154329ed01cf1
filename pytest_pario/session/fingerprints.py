"""Facts of the environment of a run, looked up once for each kind of access to a directory under test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mpi4py import MPI

TELLING_HINTS = ("romio_filesystem_type", "striping_unit", "striping_factor")
"""Hints in force that facts are derived from."""


class Fingerprints:
    """What root found, by directory, ranks and driver; all ranks of a test ask together."""

    def __init__(self, config: pytest.Config, hosts: list[dict[str, Any]]) -> None:
        """Know the hosts of all ranks."""
        self._config, self._hosts = config, hosts
        self._found: dict[tuple[Any, ...], dict[str, Any]] = {}

    def of(self, comm: MPI.Comm, directory: Path, hints: dict[str, str]) -> dict[str, Any]:
        """Facts about files in `directory`, the site's own among them; `hints` are those in force."""
        from pytest_pario.environment.collectors import collect_all
        from pytest_pario.mpi import agree

        place = directory.parent
        # what the facts follow from: a test on fewer ranks, or without MPI-IO, has others than the one before it
        driver = tuple(hints.get(name, "") for name in TELLING_HINTS)
        key = (place, comm.size, any(name.startswith("romio_") for name in hints), driver)
        # a rank that sat the earlier tests out does not have them yet
        if agree(comm, key not in self._found):
            found = self._found.get(key)
            if comm.rank == 0 and found is None:
                told = self._config.hook.pytest_pario_facts(config=self._config, directory=str(place))
                extra = {name: value for facts in told for name, value in facts.items()}
                hostnames = [str(host["host"]) for host in self._hosts[: comm.size]]
                found = dict(collect_all(directory, hints, hostnames, extra))
            self._found[key] = comm.bcast(found, root=0)
        return self._found[key]
