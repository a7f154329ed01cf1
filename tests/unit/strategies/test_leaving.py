"""One rank cannot prepare a call: all leave it, and each that is well is told of the rank that is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pytest_pario.schemes.partition import PartitionMap
from pytest_pario.schemes.settings import parse_strategy
from pytest_pario.strategies.catalogue import make_strategy
from pytest_pario.strategies.protocol import Movement, Site
from tests.unit.strategies.threads import Comm, MemoryFile, run_threads


@pytest.mark.parametrize("far", [1, 100], ids=["few rounds", "many rounds"])
@pytest.mark.parametrize("writes", [True, False])
@pytest.mark.parametrize(
    "strategy",
    ["two_phase:buffer=10", "data_shipping:block=5,stripe=10", "resonant:unit=10,nodes=3,scheme=agents,buffer=10"],
)
def test_the_others_are_told_who_could_not_cut(  # GPFS-48, GPFS-49
    strategy: str, writes: bool, far: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, broken = PartitionMap.cut, 1

    def cut(self: PartitionMap, offsets: Any, lengths: Any) -> Any:
        if offsets.size == 2:
            raise MemoryError("cut")
        return plain(self, offsets, lengths)

    monkeypatch.setattr(PartitionMap, "cut", cut)
    told: dict[int, list[str]] = {}

    def one(comm: Comm) -> None:
        site, made = Site(comm, MemoryFile(np.zeros(100_000, dtype=np.uint8))), make_strategy(parse_strategy(strategy))  # type: ignore[arg-type]
        assert made is not None
        offsets = np.array([0, 5 * far, 200 * far])[: 2 if comm.rank == broken else 3] + comm.rank
        memory = np.zeros(offsets.size, dtype=np.uint8)
        made.carry_out(site, Movement(offsets, np.arange(offsets.size), np.ones_like(offsets), memory, writes))
        told[comm.rank] = [f"{type(error).__name__}: {error}" for error in site.errors]

    run_threads(3, one)
    assert told[broken] == ["MemoryError: cut"]
    for rank in (0, 2):
        (error,) = told[rank]
        assert error.startswith("RemoteTaskError")
        assert str(broken) in error
        assert "0" not in error
