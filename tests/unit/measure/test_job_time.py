from __future__ import annotations

from typing import Any

from pytest_pario.measure.clock import RankTimes, agree_samples


class Two:
    """Two ranks, the other of them slower by a second in each part."""

    def allgather(self, rounds: list[RankTimes]) -> list[Any]:
        return [rounds, [RankTimes(2.0, 3.0, 4.0, 5.0, 14.0, 0.0, 14.0, 10) for _ in rounds]]


def test_a_job_is_access_and_sync_and_nothing_else() -> None:  # GPFS-02, GPFS-10
    mine = [RankTimes(1.0, 2.0, 3.0, 4.0, 10.0, 0.0, 10.0, 10)]
    assert agree_samples(Two(), mine, calls_only=True).elapsed_s == (7.0,)  # type: ignore[arg-type]
    assert agree_samples(Two(), mine).elapsed_s == (14.0,)  # type: ignore[arg-type]
