"""`pario sweep`: jobs that measure hint sets in turns, and jobs that confirm what is recommended."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_pario.errors import ParameterError, SpaceError
from pytest_pario.model import Access, Pattern
from pytest_pario.patterns.planning import period, plan
from pytest_pario.report.sweep import beffio_hints_text, romio_hints_text, sweep_lines
from pytest_pario.session.sweep_job import Place, Task, run_job
from pytest_pario.units import format_bytes
from pytest_pario.workloads.hints import classify_hints, relieve
from pytest_pario.workloads.sweep.analysis import Swept, decide, interval, plain_swept, screen
from pytest_pario.workloads.sweep.decision import draw_pairs
from pytest_pario.workloads.sweep.matrix import HintSet, order_of

ROUNDS = 5
"""Over all sets: the fewest whose range is an interval of 90 %."""
TEST_ROUNDS = 12
"""Over the best few: one round in which a set that gains loses by chance must not decide."""
SEED = 1


@dataclass(frozen=True)
class SweepRequest:
    """What is to be swept."""

    patterns: tuple[Pattern, ...]
    sets: tuple[HintSet, ...]
    phases: tuple[Access, ...]
    place: Place
    rounds: int = ROUNDS
    """Over all sets, to choose those that are tested."""
    test_rounds: int = TEST_ROUNDS
    """Fresh ones, over the chosen sets only."""
    output: Path | None = None
    """Where the hint files go; None writes none."""
    confirm: int = 0
    """Pairs of jobs with and without the recommended file."""

    def __post_init__(self) -> None:
        for name, value, least in (
            ("rounds", self.rounds, 3),
            ("test-rounds", self.test_rounds, 1),
            ("confirm", self.confirm, 0),
        ):
            if value < least:
                raise ParameterError(name, value, f"{least} or more", f"--{name}")
        if self.place.ranks < 1:
            raise ParameterError("ranks", self.place.ranks, "1 or more", "-n")
        if not self.place.limit_s > 0:
            raise ParameterError("timeout", self.place.limit_s, "a positive number of seconds", "--timeout")
        for name, path in (("dir", self.place.directory), ("output", self.output)):
            if path is not None and not os.access(path, os.W_OK | os.X_OK):
                raise ParameterError(name, str(path), "a directory that can be written to", f"--{name}")
        self._check_patterns()

    def _check_patterns(self) -> None:
        """Refuse before any job what a rank could only refuse later."""
        if not self.patterns:
            raise ParameterError("pattern", "", "given at least once", "--pattern")
        twice = [name for name, count in Counter(one.name for one in self.patterns).items() if count > 1]
        if twice:
            allowed = "a name that only one pattern has: files are named after it"
            raise ParameterError("pattern", twice[0], allowed, "--pattern and --rows")
        for pattern in self.patterns:
            for phase in self.phases:
                if phase not in pattern.access:
                    allowed = f"one of {', '.join(pattern.access)}"
                    raise ParameterError(f"{pattern.name}: phase", phase, allowed, "--phase")
            _require_space(pattern, self.place)

    def tasks(self, plans: Sequence[Sequence[int]]) -> list[Task]:
        """The same rounds on every pattern and phase."""
        return [Task(pattern, phase, plans) for pattern in self.patterns for phase in self.phases]


def _require_space(pattern: Pattern, place: Place) -> None:
    """Refuse a pattern that does not fit the ranks, or whose file does not fit the filesystem."""
    repetitions = plan(pattern, place.ranks).repetitions
    files = place.ranks if pattern.files == "each" else 1
    needed = repetitions * period(pattern, place.ranks) * files
    free = shutil.disk_usage(place.directory).free
    if needed > free:
        raise SpaceError(
            f"{pattern.name} needs {format_bytes(needed)}, {place.directory} has {format_bytes(free)} free: "
            "take a smaller total, or another --dir"
        )


def run_sweep(request: SweepRequest) -> list[str]:
    """Measure, analyse, write the files, confirm; returns the lines to print."""
    plans = order_of(len(request.sets), request.rounds)
    tasks = request.tasks(plans)
    told = run_job(request.place, tasks, request.sets)
    screened = [
        screen(
            task.pattern.name, task.phase, request.sets, plans=plans, rates=one["rates"],
            told=[one["in_force"][str(number)] for number in range(len(request.sets))],
        )
        for task, one in zip(tasks, told["found"], strict=True)
    ]  # fmt: skip
    found = _test(request, tasks, screened)
    lines = sweep_lines(found, library=told["library"])
    lines += _write(request, found, told["library"])
    if request.confirm:
        lines.append("")
        for task, one in zip(tasks, found, strict=True):
            lines += _confirm(request, task, one, told["library"])
    return lines


def _test(request: SweepRequest, tasks: Sequence[Task], screened: Sequence[Swept]) -> list[Swept]:
    """Fresh rounds on the candidates of each pattern and phase, in one job."""
    chosen = [
        Task(task.pattern, task.phase, draw_pairs(one.candidates, request.test_rounds, SEED) if one.candidates else [])
        for task, one in zip(tasks, screened, strict=True)
    ]
    wanted = [task for task in chosen if task.plans]
    fresh = iter(run_job(request.place, wanted, request.sets)["found"] if wanted else ())
    return [
        decide(one, one.candidates, plans=task.plans, rates=next(fresh)["rates"]) if task.plans else one
        for task, one in zip(chosen, screened, strict=True)
    ]


def _write(request: SweepRequest, found: Sequence[Swept], library: str) -> list[str]:
    if request.output is None:
        return []
    patterns = {pattern.name: pattern for pattern in request.patterns}
    texts = {f"{one.pattern}-{one.phase}.romio_hints": romio_hints_text(one) for one in found}
    texts["beffio.hints"] = beffio_hints_text(found, patterns)
    told = {"library": library, "ranks": request.place.ranks, "found": [plain_swept(one) for one in found]}
    texts["sweep.json"] = json.dumps(told, indent=1) + "\n"
    for name, text in texts.items():
        (request.output / name).write_text(text, encoding="utf-8")
    return ["", *(f"written: {request.output / name}" for name in texts)]


def _confirm(request: SweepRequest, task: Task, one: Swept, library: str) -> list[str]:
    """Jobs with and without the recommended ROMIO_HINTS file in turns: the gain without any code asking for hints."""
    name = f"{one.pattern} {one.phase}"
    if one.recommended is one.cells[0]:
        return [f"{name}: nothing to confirm, the default is recommended"]
    if "MPICH" not in library and "Intel" not in library:
        return [f"{name}: not confirmed, {library} does not read ROMIO_HINTS"]
    plans = [[0] * ROUNDS]
    # hints that a program asks for win over those of the file, so the row leaves it those that the file has
    relieved = relieve(task.pattern, one.recommended.hints.hints)
    ratios = []
    with tempfile.NamedTemporaryFile("w", prefix="pario-", suffix=".romio_hints", dir=request.place.directory) as file:
        file.write(romio_hints_text(one))
        file.flush()
        for number in range(request.confirm):
            rates = {}
            for hinted in (True, False) if number % 2 else (False, True):
                around: Mapping[str, str] = {"ROMIO_HINTS": file.name} if hinted else {}
                row = relieved if hinted else task.pattern
                (told,) = run_job(request.place, [Task(row, task.phase, plans)], [HintSet()], around)["found"]
                if hinted and (missing := _not_in_force(one.recommended.hints, told["in_force"]["0"])):
                    return [f"{name}: not confirmed, the ROMIO_HINTS file did not act: {missing}"]
                rates[hinted] = statistics.median(told["rates"][0])
            ratios.append(rates[True] / rates[False])
    seen = interval(ratios)
    return [
        f"{name}: the hints of the file were in force; with ROMIO_HINTS "
        f"{seen.ratio:.2f} [{seen.low:.2f}, {seen.high:.2f}] of the default in "
        f"{request.confirm} pairs of jobs, the sweep said {one.recommended.estimate.ratio:.2f}"
    ]


def _not_in_force(hints: HintSet, in_force: Mapping[str, str]) -> str:
    """What the file asked for and the job did not have, in words; empty where it had all (GEN-12)."""
    outcomes = [one for one in classify_hints(hints.hints, in_force) if one.state in ("changed", "dropped")]
    return "; ".join(f"{one.key}={one.requested} asked, {one.in_force or 'nothing'} in force" for one in outcomes)


SHAPES = ("segmented", "strided", "strided_at_once")


def read_rows(path: Path) -> tuple[Pattern, ...]:
    """The patterns of a TOML file."""
    from pytest_pario.patterns.toml import patterns_from_toml

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError("rows", str(path), f"a TOML file that can be read ({error})", "--rows") from None
    return patterns_from_toml(text)


def parse_pattern(text: str, ranks: int) -> Pattern:
    """`strided:32KiB:8MiB:coll`: layout, piece, bytes of all ranks together, coll or indep."""
    from pytest_pario.patterns import rows
    from pytest_pario.workloads.kinds import Size

    fields = text.split(":")
    if len(fields) != 4 or fields[0] not in SHAPES or fields[3] not in ("coll", "indep"):
        allowed = f"LAYOUT:PIECE:TOTAL:coll|indep with a layout of {', '.join(SHAPES)}"
        raise ParameterError("pattern", text, allowed, "--pattern")
    try:
        piece, total = (Size(1).read(word) for word in fields[1:3])
    except ValueError:
        raise ParameterError("pattern", text, "sizes such as 32KiB", "--pattern") from None
    if ranks < 1:
        raise ParameterError("ranks", ranks, "1 or more", "-n")
    return rows.row("-".join(fields), getattr(rows, fields[0]), piece, total, fields[3] == "coll", ranks)
