"""Patterns on one rank: what was written is verified part by part, and no part is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_pario import mpi
from pytest_pario.errors import VerificationError
from pytest_pario.units import GiB, MiB
from pytest_pario.workloads.beffio import execution
from pytest_pario.workloads.beffio.execution import PartitionRun, Surroundings
from pytest_pario.workloads.beffio.schedule import Step
from pytest_pario.workloads.beffio.settings import Machine, Settings
from pytest_pario.workloads.beffio.table import ROWS

SETTINGS = Settings(30.0, Machine(1, 1, 256 * MiB, GiB), (1,), noshared=True, limit_bytes=4 * MiB)


@pytest.mark.parametrize("number", [5, 7, 13, 20, 30])
@pytest.mark.parametrize("place", [None, 0.0, 0.5, 1.0])
def test_every_part_is_looked_at(
    number: int, place: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # GEN-04, GEN-07
    run = PartitionRun(mpi.load().COMM_SELF, SETTINGS, Surroundings(tmp_path, "ext4", seed=5, loop="python"))
    run.counts = {} if number < 25 else {row.number: 40 for row in ROWS if row.type <= 2}
    looked: list[Any] = []
    real, verify = run._look_at, run._verify

    def look(step: Step, target: Any, work: Any, content: Any) -> Any:
        looked.append(work)
        return real(step, target, work, content)

    def damage(step: Step, target: Any, base: int, content: Any) -> None:
        if place is not None:
            size = target.own_file.stat().st_size
            with target.own_file.open("r+b") as file:
                file.seek(base + int(place * (size - base - 1)))
                old = file.read(1)[0]
                file.seek(-1, 1)
                file.write(bytes([old ^ 1]))
        verify(step, target, base, content)

    monkeypatch.setattr(execution, "VERIFY_AT_ONCE", 100_000 if ROWS[number].type >= 1 else MiB + 300)
    monkeypatch.setattr(run, "_look_at", look)
    monkeypatch.setattr(run, "_verify", damage)
    step = Step(1, "write", ROWS[number])
    if place is None:
        result = run.run(step, last=False)
        run.abandon()
        assert len(looked) > 1
        assert sum(work.repetitions for work in looked) == result.repetitions
    else:
        with pytest.raises(VerificationError, match="wrong byte"):
            run.run(step, last=False)
