"""`pario ab`: two configurations, interleaved A B B A in one job, compared in pairs."""

from __future__ import annotations

import contextlib
import json
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, TypeAlias

from pytest_pario.baseline.paired import LEAST_PAIRS, Paired, compare, confidence_of, decide, looks
from pytest_pario.errors import ParameterError, SessionError, VerificationError
from pytest_pario.report.paired import paired_lines
from pytest_pario.session.ab_run import Configuration, Measured, parse_configuration, run_once

FINE, DAMAGED, SLOWER, UNDECIDED = 0, 1, 3, 4
MOST_FAILED = 5
"""Runs that may fail before it is given up; before the first whole pair it is one."""


@dataclass(frozen=True)
class Limits:
    """When to stop."""

    most: int = 60
    """Pairs at most."""
    effect: float = 0.10
    """Size of a change that is to be decided."""
    runs: int = 3
    """Of each side in a pair."""
    limit_s: float | None = None
    """Seconds that all of it may take."""

    def __post_init__(self) -> None:
        if self.most < LEAST_PAIRS:
            raise ParameterError("--pairs", self.most, f"{LEAST_PAIRS} or more", "command line")
        if self.runs < 1:
            raise ParameterError("--runs", self.runs, "1 or more", "command line")
        if not 0 < self.effect < 1:
            raise ParameterError("--effect", self.effect, "a part between 0 and 1, such as 0.1", "command line")
        if self.limit_s is not None and not 0 < self.limit_s < float("inf"):
            raise ParameterError("--limit", self.limit_s, "a positive number of seconds", "command line")


Rates: TypeAlias = dict[str, list[float]]
RunOnce: TypeAlias = Callable[[int, float | None], dict[str, Measured]]
"""Run a side within so many seconds: what each test measured."""


@dataclass
class Pairs:
    """Pairs taken so far, and what went wrong meanwhile."""

    limits: Limits
    run: RunOnce
    keep: Callable[[], None] = lambda: None
    """Called after every pair: hours of measuring are not to be lost."""
    rates: tuple[Rates, Rates] = field(default_factory=lambda: ({}, {}))
    kinds: dict[str, set[str]] = field(default_factory=dict)
    """What each test measured; more than one kind of thing is not compared."""
    count: int = 0
    failures: list[str] = field(default_factory=list)
    stopped: str = ""
    """Why there are no more pairs, where it was not for the last look."""
    damage: str = ""
    begun: float = field(default_factory=time.monotonic)

    def take(self) -> bool:
        """One more pair; false where there is to be none. A run that fails takes its pair with it, no other."""
        while True:
            try:
                taken = self._take_once()
            except SessionError as error:
                self.failures.append(str(error))
                # what never worked is not tried again and again; what fails now and then may
                if len(self.failures) > (MOST_FAILED if self.count else 1):
                    self.stopped = f"{len(self.failures)} runs failed"
                    if not self.count:
                        raise SessionError(f"{self.stopped}; the last: {error}") from error
                    return False
                continue
            except VerificationError as error:
                self.damage = str(error)
            except (KeyboardInterrupt, subprocess.TimeoutExpired) as error:
                expired = isinstance(error, subprocess.TimeoutExpired)
                self.stopped = f"--limit {self.limits.limit_s:g} s was reached" if expired else "it was interrupted"
            else:
                self._add(taken)
                return True
            return False

    def _take_once(self) -> tuple[Rates, Rates]:
        taken: tuple[Rates, Rates] = ({}, {})
        for side in pair_order(self.count, self.limits.runs):
            left = None if self.limits.limit_s is None else self.limits.limit_s - (time.monotonic() - self.begun)
            if left is not None and left <= 0:
                raise subprocess.TimeoutExpired("pario ab", self.limits.limit_s or 0.0)
            for name, one in self.run(side, left).items():
                taken[side].setdefault(name, []).append(one.rate)
                self.kinds.setdefault(name, set()).add(one.kind)
        return taken

    def _add(self, taken: tuple[Rates, Rates]) -> None:
        for side in (0, 1):
            for name, values in taken[side].items():
                # a test that is not in every run of a pair is in none
                if len(values) == self.limits.runs:
                    self.rates[side].setdefault(name, []).append(statistics.median(values))
        self.count += 1
        self.keep()

    def decide(self, alpha: float) -> list[Paired]:
        """What the pairs say of every test that all of them have, and that measured one kind of thing."""
        first, second = self.rates
        names = [name for name in first if name not in self.left_out()]
        if not names:
            raise SessionError(f"no test was measured alike in both configurations: {'; '.join(self._left_lines())}")
        tests = [compare(name, first[name], second[name], confidence_of(self.limits.most)) for name in names]
        return decide(tests, self.limits.effect, alpha)

    def left_out(self) -> dict[str, str]:
        """Tests that cannot be compared, and why."""
        found = {}
        for name, kinds in self.kinds.items():
            least = min(len(side.get(name, ())) for side in self.rates)
            if len(kinds) > 1:
                found[name] = f"unlike things: {' / '.join(sorted(kinds))}"
            elif least < self.count:
                found[name] = f"missing from {self.count - least} of {self.count} pairs"
        return found

    def lines(self) -> list[str]:
        """What limits the result."""
        lines = []
        if self.damage:
            lines.append(f"WRONG BYTES {self.damage}")
        if self.failures:
            count = f"{len(self.failures)} run{'s' if len(self.failures) > 1 else ''} failed"
            lines.append(f"{count}, each pair was taken anew; the last: {self.failures[-1]}")
        if self.stopped:
            enough = "" if self.count >= LEAST_PAIRS else f"; a decision needs {LEAST_PAIRS}"
            lines.append(f"{self.stopped} after {self.count} pairs{enough}")
        return lines + self._left_lines()

    def _left_lines(self) -> list[str]:
        return [f"not compared: {name}: {why}" for name, why in sorted(self.left_out().items())]


def compare_configurations(  # noqa: PLR0917 - one for each word of the command line
    a: str,
    b: str,
    ranks: int,
    limits: Limits,
    mpiexec: str | None,
    arguments: list[str],
    output: Path | None = None,
) -> tuple[int, list[str]]:
    """Run pairs until every test is decided or there are enough; returns status and lines."""
    sides = (parse_configuration("A", a), parse_configuration("B", b))
    pairs = Pairs(limits, lambda side, left: run_once(sides[side], ranks, mpiexec, arguments, left))
    if output is not None:
        pairs.keep = lambda: write_pairs(output, sides, pairs)
    with interrupted_by_sigterm():
        decided = run_pairs(pairs)
    status = SLOWER if any(one.decision == "slower" for one in decided) else FINE
    if all(one.decision == "undecided" for one in decided):
        status = UNDECIDED
    if pairs.damage:
        status = DAMAGED
    return status, [*pairs.lines(), *paired_lines(sides[0].text, sides[1].text, decided, confidence_of(limits.most))]


def write_pairs(path: Path, sides: tuple[Configuration, Configuration], pairs: Pairs) -> None:
    """All pairs so far; the file is whole at any moment."""
    told = {"a": sides[0].text, "b": sides[1].text, "rates": pairs.rates, "failures": pairs.failures}
    aside = path.with_name(f".{path.name}.part")
    aside.write_text(json.dumps(told, indent=1), encoding="utf-8")
    aside.replace(path)


@contextlib.contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """A batch system's time limit ends it as Ctrl-C does: the running job is ended, what is known is said."""

    def interrupt(_signum: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run_pairs(pairs: Pairs) -> list[Paired]:
    """Take pairs until all tests are decided, there are enough, or none can be had; what was decided last."""
    stops = looks(pairs.limits.most)
    decided: list[Paired] = []
    while pairs.count < pairs.limits.most and pairs.take():
        if pairs.count in stops:
            decided = pairs.decide(stops[pairs.count])
            if all(one.decision != "undecided" for one in decided):
                break
    # the look at an early end stands for one that is no longer to come
    if pairs.stopped and pairs.count >= LEAST_PAIRS and pairs.count not in stops:
        decided = pairs.decide(next(alpha for stop, alpha in stops.items() if stop > pairs.count))
    return decided


def pair_order(pair: int, runs: int) -> list[int]:
    """Sides of the runs of a pair, 0 for A: A B B A A B …, every other pair the other way round."""
    order = [(k + 1) // 2 % 2 for k in range(2 * runs)]
    return order if pair % 2 == 0 else [1 - side for side in order]
