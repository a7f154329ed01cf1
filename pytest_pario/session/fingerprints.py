"""Facts of the environment of a run, looked up once for each directory under test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mpi4py import MPI


class Fingerprints:
    """What root found, by directory; all ranks of a test ask together."""

    def __init__(self, config: pytest.Config, hosts: list[dict[str, Any]]) -> None:
        """Know the hosts of all ranks."""
        self._config, self._hosts = config, hosts
        self._found: dict[Path, dict[str, Any]] = {}

    def of(self, comm: MPI.Comm, directory: Path, hints: dict[str, str]) -> dict[str, Any]:
        """Facts about files in `directory`, the site's own among them; `hints` are those in force."""
        from pytest_pario.environment.collectors import collect_all
        from pytest_pario.mpi import agree

        key = directory.parent
        # a rank that sat the earlier tests out does not have them yet
        if agree(comm, key not in self._found):
            found = self._found.get(key)
            if comm.rank == 0 and found is None:
                told = self._config.hook.pytest_pario_facts(config=self._config, directory=str(key))
                extra = {name: value for facts in told for name, value in facts.items()}
                hostnames = [str(host["host"]) for host in self._hosts[: comm.size]]
                found = dict(collect_all(directory, hints, hostnames, extra))
            self._found[key] = comm.bcast(found, root=0)
        return self._found[key]
