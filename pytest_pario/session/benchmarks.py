"""Agreed samples into pytest-benchmark: by its public interface, with a clock that replays them.

`benchmark(f)` calibrates in every process for itself: ranks choose different numbers of rounds and a collective
inside hangs. Under several ranks the fixture therefore becomes an `AgreedBenchmark`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from pytest_benchmark.utils import NameWrapper

from pytest_pario.measure.rounds import MOST_ROUNDS, RoundPlan, RoundSamples, measure_rounds
from pytest_pario.report.bandwidth import BandwidthRow, dropped_hints, format_rows, median_before, note_of, rates_of

if TYPE_CHECKING:
    from mpi4py import MPI

    from pytest_pario.model import Record


class ReplayClock:
    """A timer for pytest-benchmark that stands still but for `advance`.

    Never to be used with `benchmark(f)`, whose calibration waits for the clock to move.
    """

    def __init__(self, seconds: Sequence[float]) -> None:
        """Replay these durations."""
        self._now, self._coming = 0.0, iter(seconds)

    def __call__(self) -> float:
        """Time now."""
        return self._now

    def advance(self) -> None:
        """Let one sample pass."""
        self._now += next(self._coming)


class AgreedBenchmark(BenchmarkFixture):  # type: ignore[misc]
    """`benchmark` of a test under several ranks: same rounds on all, seconds of the slowest."""

    _agreed_comm: MPI.Comm

    def __call__(self, function_to_benchmark: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Fill `max_time` with rounds, at least `min_rounds`, as root counts them."""
        kept = _Keep(function_to_benchmark)
        first = measure_rounds(self._agreed_comm, lambda: kept(*args, **kwargs), RoundPlan(1, warmup_rounds=0))
        wanted = math.ceil(self._max_time / max(first.seconds[0], 1e-9)) if self.enabled else 1
        rounds = min(max(wanted, self._min_rounds if self.enabled else 1), MOST_ROUNDS)
        if self.enabled:
            first = measure_rounds(self._agreed_comm, lambda: kept(*args, **kwargs), RoundPlan(rounds, 0))
        self._replay(first)
        return kept.result

    def pedantic(  # noqa: PLR0917 - as pytest-benchmark has it
        self,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        setup: Callable[[], Any] | None = None,
        teardown: Callable[..., Any] | None = None,
        rounds: int = 1,
        warmup_rounds: int = 0,
        iterations: int = 1,
    ) -> Any:
        """As many rounds as root asks for; several iterations count as one round of their mean."""
        kept, given = _Keep(target), [(tuple(args), dict(kwargs or {}))]

        def prepare() -> None:
            made = setup() if setup is not None else None
            if made:
                given[0] = (tuple(made[0]), dict(made[1]))

        def operate() -> None:
            for _ in range(iterations):
                kept(*given[0][0], **given[0][1])

        def tidy() -> None:
            if teardown is not None:
                teardown(*given[0][0], **given[0][1])

        plan = RoundPlan(rounds if self.enabled else 1, warmup_rounds if self.enabled else 0)
        samples = measure_rounds(self._agreed_comm, operate, plan, prepare, tidy)
        self._replay(samples, iterations)
        return kept.result

    def _replay(self, samples: RoundSamples, iterations: int = 1) -> None:
        clock = ReplayClock([seconds / iterations for seconds in samples.seconds])
        self._timer = clock
        self.extra_info.setdefault("ranks", samples.ranks)
        super().pedantic(clock.advance, rounds=len(samples.seconds))


def adopt_benchmark(fixture: BenchmarkFixture, comm: MPI.Comm) -> None:
    """Make an ordinary fixture agree over the ranks; pytest-benchmark keeps its hold on the object."""
    fixture.__class__ = AgreedBenchmark
    fixture._agreed_comm = comm


class _Keep:
    """Keeps the last result of a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.result: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self.result = self._function(*args, **kwargs)


def store_bandwidth(request: pytest.FixtureRequest, samples: RoundSamples, extra_info: Mapping[str, Any]) -> None:
    """Hand bandwidth samples of a test to pytest-benchmark: seconds as its data, bytes and rates beside them."""
    clock = ReplayClock(samples.seconds)
    marker = request.node.get_closest_marker("benchmark")
    options = {**(marker.kwargs if marker else {}), "timer": clock}
    request.node.add_marker(pytest.mark.benchmark(**options), append=False)
    fixture = request.getfixturevalue("benchmark")
    fixture.extra_info.update(bandwidth_info(samples), **extra_info)
    # as a plain fixture: the samples are agreed already
    BenchmarkFixture.pedantic(fixture, clock.advance, rounds=len(samples.seconds))


def store_record(request: pytest.FixtureRequest, record: Record, fingerprint: Mapping[str, Any]) -> Record:
    """Keep a record: seconds of open to close of the slowest rank as data, the whole of it under extra_info."""
    from pytest_pario.plain import plain

    full = dataclasses.replace(record, fingerprint=dict(fingerprint))
    clock = ReplayClock(record.samples.elapsed_s)
    marker = request.node.get_closest_marker("benchmark")
    options = {"group": record.phase, **(marker.kwargs if marker else {}), "timer": clock}
    request.node.add_marker(pytest.mark.benchmark(**options), append=False)
    fixture = request.getfixturevalue("benchmark")
    fixture.extra_info.update(ranks=record.n, moved_bytes=list(record.samples.moved_bytes), record=plain(full))
    BenchmarkFixture.pedantic(fixture, clock.advance, rounds=len(record.samples.elapsed_s))
    return full


def bandwidth_info(samples: RoundSamples) -> dict[str, Any]:
    """Bytes and ranks: with the seconds in pytest-benchmark's data every rate can be derived (GEN-01)."""
    return {
        "ranks": samples.ranks,
        "moved_bytes": list(samples.moved_bytes),
        "warmup_seconds": list(samples.warmup_seconds),
    }


def record_benchmark(config: pytest.Config, nodeid: str) -> list[dict[str, Any]]:
    """What pytest-benchmark holds of a test, as plain data for the journal."""
    benchmarks = getattr(getattr(config, "_benchmarksession", None), "benchmarks", [])
    return [
        {"seconds": list(one.stats.data), "extra_info": one.extra_info, "group": one.group}
        for one in benchmarks
        if one.fullname == nodeid and not one.has_error
    ]


def recall_benchmark(config: pytest.Config, item: pytest.Item, recorded: list[dict[str, Any]] | None) -> None:
    """Give pytest-benchmark the samples of a finished test back."""
    session: Any = getattr(config, "_benchmarksession", None)
    if session is None or session.disabled or not recorded:
        return
    for one in recorded:
        clock = ReplayClock(one["seconds"])
        options = {**session.options, "timer": NameWrapper(clock), "group": one["group"]}
        logger, keep = session.logger, session.benchmarks.append
        fixture = BenchmarkFixture(item, add_stats=keep, logger=logger, warner=item.warn, disabled=False, **options)
        fixture.extra_info.update(one["extra_info"])
        fixture.pedantic(clock.advance, rounds=len(one["seconds"]))


def bandwidth_lines(config: pytest.Config) -> list[str]:
    """The bandwidth table of this run, beside the run of `--benchmark-compare` where one is loaded."""
    session: Any = getattr(config, "_benchmarksession", None)
    compared = (getattr(session, "compared_mapping", None) or {}).values()
    rows, records = [], []
    for one in getattr(session, "benchmarks", []):
        if one and one.extra_info.get("moved_bytes") and not one.extra_info.get("own_table"):
            before = next((median_before(saved[one.fullname]) for saved in compared if one.fullname in saved), None)
            rates = rates_of(one.extra_info["moved_bytes"], one.stats.data)
            record = one.extra_info.get("record", {})
            records.append(record)
            withheld = "class withheld" if one.extra_info.get("withheld") else ""
            note = ", ".join(text for text in (withheld, note_of(record)) if text)
            rows.append(BandwidthRow(one.name, one.extra_info["ranks"], rates, before, note))
    return [*format_rows(rows), *dropped_hints(records)] if rows else []
