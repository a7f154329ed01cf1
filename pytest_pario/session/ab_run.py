"""One run of one side of `pario ab`: a job of its own, with a store of its own, read as a night is read."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_pario.baseline.series import Sample
from pytest_pario.baseline.store import Night, Store
from pytest_pario.errors import ParameterError, SessionError, VerificationError
from pytest_pario.session.launcher import find_launcher

KINDS = "hint:KEY=VALUE, param:NAME=VALUE, env:NAME=VALUE, dir=PATH, python=PATH, mpiexec=CMD or source=SCRIPT"
MACHINE = "ab"
STOP_S = 20.0
"""How long a job may take to end in order, once it is told to."""
TAIL = 1500
"""Characters that are told of a run that failed."""


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


@dataclass(frozen=True)
class Measured:
    """What one run has of one test."""

    rate: float
    """MiB/s, median of its repetitions."""
    kind: str
    """What was measured, apart from where: unlike things are not compared (CONS-49, BEFF-67)."""


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


def run_once(
    side: Configuration, ranks: int, mpiexec: str | None, arguments: Sequence[str], limit_s: float | None = None
) -> dict[str, Measured]:
    """Run the tests once within a time; what each of them measured."""
    with tempfile.TemporaryDirectory(prefix="pario-ab-") as folder:
        launcher = find_launcher(side.mpiexec or mpiexec or _beside(side.python), ranks)
        command = [*launcher.command, side.python, "-m", "pytest", "--with-mpi", "-q", "-p", "no:cacheprovider"]
        command += [f"--pario-journal={folder}/journal.jsonl", *side.options, *arguments]
        # behind the operator's: these runs are no nights of the site, and its history is not theirs to be judged by
        command += [f"--pario-store={folder}", f"--pario-machine={MACHINE}", "--pario-save", "--pario-remeasure=0"]
        if side.source:
            command = ["bash", "-c", f". {shlex.quote(side.source)} && exec {shlex.join(command)}"]
        environment = {**os.environ, **launcher.environment, **side.environment}
        status, told = _run_command(command, environment, limit_s)
        nights = Store(Path(folder), MACHINE).read().nights
    night = nights[-1] if nights else None
    wrong = wrong_bytes(night) if night else ""
    if wrong:
        raise VerificationError(side.text, wrong)
    if status != 0 or night is None:
        raise SessionError(f"a run of {side.text!r} ended with status {status}:\n{told[-TAIL:]}")
    return {one.fullname: measured(one) for one in night.samples}


def wrong_bytes(night: Night) -> str:
    """The first sentence about wrong bytes in a run; empty where all are right."""
    told = [f"{one.fullname}: {one.sentence}" for one in night.failures if one.kind == "damaged"]
    told += [f"{one.fullname}: {one.damaged}" for one in night.samples if one.damaged]
    return told[0] if told else ""


def measured(sample: Sample) -> Measured:
    """Median rate of a run, and what it is the rate of."""
    alike = dataclasses.replace(sample.series, pattern="", filesystem="", ranks_per_node="")
    ordered = sorted(sample.rates)
    return Measured(ordered[len(ordered) // 2], " ".join(str(alike).split()))


def _run_command(command: list[str], environment: Mapping[str, str], limit_s: float | None) -> tuple[int, str]:
    """Status and output; on expiry or interruption the launcher is ended with all that it started here."""
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
            _end(process)
            raise
    return process.returncode, output


def _end(process: subprocess.Popen[str]) -> None:
    """In order if it can, so that it removes its files; else at once."""
    try:
        with contextlib.suppress(subprocess.TimeoutExpired, ProcessLookupError):
            process.terminate()
            process.communicate(timeout=STOP_S)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _beside(python: str) -> str | None:
    """The launcher of another interpreter's MPI library; None for our own, which find_launcher knows."""
    launcher = Path(python).parent / "mpiexec"
    return str(launcher) if python != sys.executable and launcher.exists() else None
