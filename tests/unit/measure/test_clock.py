"""CONS-25..31, CONS-35..38: what is timed, and how the times of the ranks become one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_pario.measure.clock import RankTimes, Stopwatch, agree_samples


class Ranks:
    """A communicator whose ranks have said what they say beforehand."""

    def __init__(self, told: Sequence[Sequence[RankTimes]]) -> None:
        self._told = told

    def allgather(self, _mine: object) -> Sequence[Sequence[RankTimes]]:
        return self._told


def times(open_s: float, io_s: float, start: float, moved: int = 10) -> RankTimes:
    elapsed_s = open_s + io_s + 0.5 + 0.25
    return RankTimes(open_s, io_s, 0.5, 0.25, elapsed_s, start, start + elapsed_s, moved)


def test_phases_follow_each_other_without_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0, 10, 40, 60, 65])
    monkeypatch.setattr("pytest_pario.measure.clock.time.perf_counter_ns", lambda: next(ticks) * 10**9)
    monkeypatch.setattr(
        "pytest_pario.measure.clock.mpi.load", lambda: type("M", (), {"Wtime": staticmethod(lambda: 7.0)})
    )
    watch = Stopwatch()
    watch.start()
    for _ in range(3):
        watch.mark()
    watch.stop()
    one = watch.times(99)
    # CONS-25: open, all writes, sync, close; CONS-26: all calls of a phase together, CONS-27, CONS-28: open to close
    assert (one.open_s, one.io_s, one.sync_s, one.close_s, one.elapsed_s) == (10, 30, 20, 5, 65)
    # CONS-29: MPI_Wtime is kept beside the monotonic clock, from which durations come (GEN-18)
    assert (one.wtime_start, one.wtime_stop) == (7.0, 7.0)


def test_waiting_between_calls_is_no_access(monkeypatch: pytest.MonkeyPatch) -> None:  # RES-32
    ticks = iter([0, 10, 20, 25, 40, 60, 65])
    monkeypatch.setattr("pytest_pario.measure.clock.time.perf_counter_ns", lambda: next(ticks) * 10**9)
    monkeypatch.setattr(
        "pytest_pario.measure.clock.mpi.load", lambda: type("M", (), {"Wtime": staticmethod(lambda: 7.0)})
    )
    watch, met = Stopwatch(), list[str]()
    watch.start()
    watch.mark()
    watch.wait(lambda: met.append("barrier"))
    watch.mark()
    watch.mark()
    watch.stop()
    one = watch.times(99)
    assert (one.io_s, one.sync_s, one.job_s, one.elapsed_s, met) == (25, 20, 45, 65, ["barrier"])


def test_ranks_become_one_sample() -> None:  # MODEL-11: numbers are functions of what was recorded
    comm = Ranks([[times(1, 2, start=100.0)], [times(3, 4, start=101.0)]])
    samples = agree_samples(comm, comm.allgather(None)[0])  # type: ignore[arg-type]
    assert samples.moved_bytes == (20,)
    # CONS-35..37: each process measures its own, the largest counts
    assert samples.elapsed_s == (7.75,)
    # CONS-31: latest stop - earliest start; CONS-30: that takes clocks for synchronised, which the record tells
    assert samples.span_s == (108.75 - 100.0,)
    assert (samples.open[0].min_s, samples.open[0].mean_s, samples.open[0].max_s) == (1, 2, 3)
    assert samples.open[0].variance_s2 == 1.0  # CONS-33: population form
