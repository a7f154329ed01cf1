"""`pario ab`: two configurations, interleaved A B B A in one job, compared in pairs."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from pytest_pario.baseline.paired import LEAST_PAIRS, Paired, compare, confidence_of, decide, looks
from pytest_pario.baseline.series import read_entry
from pytest_pario.errors import ParameterError, SessionError
from pytest_pario.report.paired import paired_lines
from pytest_pario.session.launcher import find_launcher

FINE, SLOWER, UNDECIDED = 0, 3, 4
MOST_FAILED = 5
"""Runs that may fail before it is given up; before the first whole pair it is one."""
KINDS = "hint:KEY=VALUE, param:NAME=VALUE, env:NAME=VALUE, dir=PATH, python=PATH, mpiexec=CMD or source=SCRIPT"


@dataclass(frozen=True)
class Configuration:
    """How one side is started."""

    text: str
    """As the operator wrote it."""
    options: tuple[str, ...] = ()
    """Added to pytest's arguments."""
    environment: Mapping[str, str] = field(default_factory=dict)
    python: str = sys.executable
    mpiexec: str | None = None
    source: str | None = None
    """Script that is sourced before the launcher, such as one that loads modules."""


def parse_configuration(name: str, text: str) -> Configuration:
    """Settings separated by blanks, quoted as in a shell; nothing, or `plain`, is the configuration as it is."""
    options: list[str] = []
    environment: dict[str, str] = {}
    single: dict[str, str] = {}
    for word in shlex.split(text):
        key, equals, value = word.partition("=")
        if word == "plain":
            continue
        if not equals or not value:
            raise ParameterError(name, word, KINDS, "command line")
        if key.startswith(("hint:", "param:")):
            options += ["--pario-param", word if key.startswith("hint:") else word.removeprefix("param:")]
        elif key.startswith("env:"):
            environment[key.removeprefix("env:")] = value
        elif key == "dir":
            options += ["--pario-dir", value]
        elif key in ("python", "mpiexec", "source"):
            single[key] = value
        else:
            raise ParameterError(name, word, KINDS, "command line")
    return Configuration(text or "plain", tuple(options), environment, **single)


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
RunOnce: TypeAlias = Callable[[int, float | None], dict[str, float]]
"""Run a side within so many seconds: the rate of each test."""


@dataclass
class Pairs:
    """Pairs taken so far, and what went wrong meanwhile."""

    limits: Limits
    run: RunOnce
    rates: tuple[Rates, Rates] = field(default_factory=lambda: ({}, {}))
    count: int = 0
    failures: list[str] = field(default_factory=list)
    out_of_time: bool = False
    begun: float = field(default_factory=time.monotonic)

    def take(self) -> bool:
        """One more pair; false where there is no time for it. A run that fails takes its pair with it, no other."""
        while True:
            try:
                taken = self._take_once()
            except SessionError as error:
                self.failures.append(str(error))
                # what never worked is not tried again and again; what fails now and then may
                if len(self.failures) > (MOST_FAILED if self.count else 1):
                    raise SessionError(f"{len(self.failures)} runs failed; the last: {error}") from error
                continue
            if taken is None:
                self.out_of_time = True
                return False
            for side in (0, 1):
                for name, values in taken[side].items():
                    self.rates[side].setdefault(name, []).append(statistics.median(values))
            self.count += 1
            return True

    def _take_once(self) -> tuple[Rates, Rates] | None:
        taken: tuple[Rates, Rates] = ({}, {})
        for side in pair_order(self.count, self.limits.runs):
            left = None if self.limits.limit_s is None else self.limits.limit_s - (time.monotonic() - self.begun)
            if left is not None and left <= 0:
                return None
            try:
                found = self.run(side, left)
            except subprocess.TimeoutExpired:
                return None
            for name, rate in found.items():
                taken[side].setdefault(name, []).append(rate)
        return taken

    def decide(self, alpha: float) -> list[Paired]:
        """What the pairs say of every test that all of them have."""
        first, second = self.rates
        names = [name for name in first if len(first[name]) == self.count == len(second.get(name, ()))]
        if not names:
            raise SessionError("no test measured anything in both configurations")
        tests = [compare(name, first[name], second[name], confidence_of(self.limits.most)) for name in names]
        return decide(tests, self.limits.effect, alpha)

    def lines(self) -> list[str]:
        """What limits the result."""
        lines = []
        if self.failures:
            count = f"{len(self.failures)} run{'s' if len(self.failures) > 1 else ''} failed"
            lines.append(f"{count}, each pair was taken anew; the last: {self.failures[-1]}")
        if self.out_of_time:
            enough = "" if self.count >= LEAST_PAIRS else f"; a decision needs {LEAST_PAIRS}"
            lines.append(f"--limit {self.limits.limit_s:g} s was reached after {self.count} pairs{enough}")
        return lines


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
    pairs = Pairs(limits, lambda side, left: _run_once(sides[side], ranks, mpiexec, arguments, left))
    decided = run_pairs(pairs)
    if output is not None:
        told = {"a": sides[0].text, "b": sides[1].text, "rates": pairs.rates, "failures": pairs.failures}
        output.write_text(json.dumps(told, indent=1))
    status = SLOWER if any(one.decision == "slower" for one in decided) else FINE
    if all(one.decision == "undecided" for one in decided):
        status = UNDECIDED
    return status, [*pairs.lines(), *paired_lines(sides[0].text, sides[1].text, decided, confidence_of(limits.most))]


def run_pairs(pairs: Pairs) -> list[Paired]:
    """Take pairs until all tests are decided, there are enough, or time is up; what was decided last."""
    stops = looks(pairs.limits.most)
    decided: list[Paired] = []
    while pairs.count < pairs.limits.most and pairs.take():
        if pairs.count in stops:
            decided = pairs.decide(stops[pairs.count])
            if all(one.decision != "undecided" for one in decided):
                break
    # the look at the end of time stands for one that is no longer to come
    if pairs.out_of_time and pairs.count >= LEAST_PAIRS and pairs.count not in stops:
        decided = pairs.decide(next(alpha for stop, alpha in stops.items() if stop > pairs.count))
    return decided


def pair_order(pair: int, runs: int) -> list[int]:
    """Sides of the runs of a pair, 0 for A: A B B A A B …, every other pair the other way round."""
    order = [(k + 1) // 2 % 2 for k in range(2 * runs)]
    return order if pair % 2 == 0 else [1 - side for side in order]


def _run_once(
    side: Configuration, ranks: int, mpiexec: str | None, arguments: Sequence[str], limit_s: float | None = None
) -> dict[str, float]:
    """Run the tests once within a time; the median rate of each."""
    with tempfile.TemporaryDirectory(prefix="pario-ab-") as folder:
        result = Path(folder) / "run.json"
        launcher = find_launcher(side.mpiexec or mpiexec or _beside(side.python), ranks)
        command = [*launcher.command, side.python, "-m", "pytest", "--with-mpi", "-q", "-p", "no:cacheprovider"]
        command += [f"--pario-journal={folder}/journal.jsonl", f"--benchmark-json={result}", *side.options, *arguments]
        if side.source:
            command = ["bash", "-c", f". {shlex.quote(side.source)} && exec {shlex.join(command)}"]
        environment = {**os.environ, **launcher.environment, **side.environment}
        status, told = _run_command(command, environment, limit_s)
        if status != 0 or not result.exists():
            raise SessionError(f"a run of {side.text!r} ended with status {status}:\n{told[-1500:]}")
        samples = [read_entry(entry) for entry in json.loads(result.read_text())["benchmarks"]]
    found = {}
    for sample in samples:
        if sample is not None and sample.rates:
            found[sample.fullname] = sorted(sample.rates)[len(sample.rates) // 2]
    return found


def _run_command(command: list[str], environment: Mapping[str, str], limit_s: float | None) -> tuple[int, str]:
    """Status and output; on expiry the launcher is killed with all that it started here."""
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit_s)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, output


def _beside(python: str) -> str | None:
    """The launcher of another interpreter's MPI library; None for our own, which find_launcher knows."""
    launcher = Path(python).parent / "mpiexec"
    return str(launcher) if python != sys.executable and launcher.exists() else None
