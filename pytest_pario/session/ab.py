"""`pario ab`: two configurations, interleaved A B B A in one job, compared in pairs."""

from __future__ import annotations

import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_pario.baseline.paired import ALPHA, LEAST_PAIRS, Paired, compare, decide, looks
from pytest_pario.baseline.series import read_entry
from pytest_pario.errors import ParameterError, SessionError
from pytest_pario.report.paired import paired_lines
from pytest_pario.session.launcher import find_launcher

FINE, SLOWER, UNDECIDED = 0, 3, 4
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


def compare_configurations(  # noqa: PLR0917 - one for each word of the command line
    a: str,
    b: str,
    ranks: int,
    most: int,
    effect: float,
    mpiexec: str | None,
    arguments: list[str],
    output: Path | None = None,
    runs: int = 3,
) -> tuple[int, list[str]]:
    """Run pairs until every test is decided or there are enough; returns status and lines."""
    _check_numbers(most, effect, runs)
    sides = (parse_configuration("A", a), parse_configuration("B", b))
    rates: tuple[dict[str, list[float]], dict[str, list[float]]] = ({}, {})
    stops = looks(most)
    # peeking several times is paid for: each look gets its share of the false decisions
    alpha = ALPHA / len(stops)
    decided: list[Paired] = []
    for pair in range(most):
        taken: tuple[dict[str, list[float]], dict[str, list[float]]] = ({}, {})
        for side in pair_order(pair, runs):
            for name, rate in _run_once(sides[side], ranks, mpiexec, arguments).items():
                taken[side].setdefault(name, []).append(rate)
        for side in (0, 1):
            for name, values in taken[side].items():
                rates[side].setdefault(name, []).append(statistics.median(values))
        if pair + 1 in stops:
            names = [name for name in rates[0] if len(rates[0][name]) == pair + 1 == len(rates[1].get(name, ()))]
            if not names:
                raise SessionError("no test measured anything in both configurations")
            tests = [compare(name, rates[0][name], rates[1][name], 1 - alpha) for name in names]
            decided = decide(tests, effect, alpha)
            if all(one.decision != "undecided" for one in decided):
                break
    if output is not None:
        output.write_text(json.dumps({"a": sides[0].text, "b": sides[1].text, "rates": rates}, indent=1))
    status = SLOWER if any(one.decision == "slower" for one in decided) else FINE
    if all(one.decision == "undecided" for one in decided):
        status = UNDECIDED
    return status, paired_lines(sides[0].text, sides[1].text, decided, 1 - alpha)


def _check_numbers(most: int, effect: float, runs: int) -> None:
    if most < LEAST_PAIRS:
        raise ParameterError("--pairs", most, f"{LEAST_PAIRS} or more", "command line")
    if runs < 1:
        raise ParameterError("--runs", runs, "1 or more", "command line")
    if not 0 < effect < 1:
        raise ParameterError("--effect", effect, "a part between 0 and 1, such as 0.1", "command line")


def pair_order(pair: int, runs: int) -> list[int]:
    """Sides of the runs of a pair, 0 for A: A B B A A B …, every other pair the other way round."""
    order = [(k + 1) // 2 % 2 for k in range(2 * runs)]
    return order if pair % 2 == 0 else [1 - side for side in order]


def _run_once(side: Configuration, ranks: int, mpiexec: str | None, arguments: Sequence[str]) -> dict[str, float]:
    """Run the tests once; the median rate of each."""
    with tempfile.TemporaryDirectory(prefix="pario-ab-") as folder:
        result = Path(folder) / "run.json"
        launcher = find_launcher(side.mpiexec or mpiexec or _beside(side.python), ranks)
        command = [*launcher.command, side.python, "-m", "pytest", "--with-mpi", "-q", "-p", "no:cacheprovider"]
        command += [f"--pario-journal={folder}/journal.jsonl", f"--benchmark-json={result}", *side.options, *arguments]
        if side.source:
            command = ["bash", "-c", f". {shlex.quote(side.source)} && exec {shlex.join(command)}"]
        environment = {**os.environ, **launcher.environment, **side.environment}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not result.exists():
            told = (done.stdout + done.stderr)[-1500:]
            raise SessionError(f"a run of {side.text!r} ended with status {done.returncode}:\n{told}")
        samples = [read_entry(entry) for entry in json.loads(result.read_text())["benchmarks"]]
    found = {}
    for sample in samples:
        if sample is not None and sample.rates:
            found[sample.fullname] = sorted(sample.rates)[len(sample.rates) // 2]
    return found


def _beside(python: str) -> str | None:
    """The launcher of another interpreter's MPI library; None for our own, which find_launcher knows."""
    launcher = Path(python).parent / "mpiexec"
    return str(launcher) if python != sys.executable and launcher.exists() else None
