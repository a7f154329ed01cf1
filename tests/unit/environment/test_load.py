from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from pytest_pario.environment.load import Load, LoadMeter, parse_stat, worst_of

TICK = os.sysconf("SC_CLK_TCK")


def stat(user: int = 0, steal: int = 0) -> str:
    return f"cpu  {user * TICK} 0 0 {50 * TICK} 7 0 0 {steal * TICK} 0 0\ncpu0 1 2 3 4\n"


def meter(texts: list[str], own: list[float]) -> LoadMeter:
    answers, times, owns = iter(texts), iter([100.0, 110.0, 120.0]), iter(own)
    return LoadMeter(lambda: next(answers), lambda: next(times), lambda: next(owns))


def test_parse_stat() -> None:
    #       user nice system idle iowait irq softirq steal guest guest_nice
    text = f"cpu  {3 * TICK} {TICK} {2 * TICK} 99 98 {TICK} 0 {5 * TICK} {2 * TICK} 0\n"
    assert parse_stat(text) == (7.0, 5.0)
    # kernels before 2.6.11 have no steal
    assert parse_stat(f"cpu {TICK} 0 0 9 9 0 0\n") == (1.0, 0.0)


@pytest.mark.parametrize("text", ["", "intr 1 2 3 4 5\n", "cpu x 0 0 0\n", "cpu 1\n"])
def test_odd_stat(text: str) -> None:
    assert LoadMeter(lambda: text).start().stop() is None


def test_own_time_is_not_that_of_others() -> None:
    # 10 s: 8 s busy of which 8 s are ours
    load = meter([stat(user=0), stat(user=8)], [0.0, 8.0]).start().stop()
    assert load is not None
    assert (load.elapsed_s, load.busy_s, load.own_s) == (10.0, 8.0, 8.0)
    assert load.other_share == 0.0
    assert not load.polluted


def test_others_pollute() -> None:
    load = Load(elapsed_s=10, cpus=2, busy_s=13, steal_s=0, own_s=10, load_average=2)
    assert load.other_share == pytest.approx(0.15)
    assert load.polluted
    # the other rank of this node had the rest
    assert not load.with_own(13).polluted


def test_steal_pollutes() -> None:
    load = Load(elapsed_s=10, cpus=2, busy_s=10, steal_s=2, own_s=10, load_average=2)
    assert load.steal_share == pytest.approx(0.1)
    assert load.facts()["polluted"].value is True


def test_an_interval_may_be_too_short_to_tell() -> None:
    # one tick of the counters is a quarter of 20 ms on two processors
    assert not Load(elapsed_s=0.02, cpus=2, busy_s=0.01, steal_s=0, own_s=0, load_average=2).polluted


def test_the_worst_host_counts() -> None:
    quiet = Load(elapsed_s=10, cpus=2, busy_s=10, steal_s=0, own_s=10, load_average=1)
    busy = Load(elapsed_s=10, cpus=2, busy_s=18, steal_s=1, own_s=10, load_average=3)
    told = worst_of({"a": quiet, "b": busy})
    assert (told["load_average"], told["other_cpu_share"], told["steal_share"]) == (3, 0.4, 0.05)
    assert told["polluted"] is True
    assert set(told["hosts"]) == {"a", "b"}  # type: ignore[call-overload]
    assert worst_of({"a": quiet})["polluted"] is False


def test_shares_stay_between_0_and_1() -> None:
    assert Load(0.0, 2, 1, 1, 0, 0).other_share == 0.0
    assert Load(1.0, 1, 9, 9, 0, 0).other_share == 1.0
    assert Load(1.0, 1, 1, 0, 9, 0).other_share == 0.0


def test_it_can_be_read_on_the_way() -> None:
    running = meter([stat(0), stat(1), stat(4)], [0.0, 0.0, 0.0]).start()
    first, second = running.stop(), running.stop()
    assert first is not None
    assert second is not None
    assert (first.busy_s, second.busy_s, second.elapsed_s) == (1.0, 4.0, 20.0)


def test_without_a_start() -> None:
    assert meter([stat()], [0.0]).stop() is None


def test_a_file_that_is_missing() -> None:
    def read() -> str:
        raise FileNotFoundError("/proc/stat")

    assert LoadMeter(read).start().stop() is None


def spin(count: int) -> Iterator[int]:
    yield from range(count)


def test_this_machine() -> None:
    running = LoadMeter().start()
    sum(spin(2_000_000))
    load = running.stop()
    assert load is not None
    assert load.own_s > 0
    assert 0 <= load.other_share <= 1
    assert set(load.facts()) == {"load_average", "other_cpu_share", "steal_share", "polluted"}
