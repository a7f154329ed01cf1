"""Every option of the plugin in one table, and the frozen object that the rest of the package reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_pario.errors import ParameterError
from pytest_pario.units import GiB, KiB, MiB, TiB


@dataclass(frozen=True)
class OptionSpec:
    """One row of the table: how an option is written and parsed."""

    flag: str
    parse: Callable[[str], Any]
    default: Any
    metavar: str
    help: str
    action: str = "store"
    """`append` for options that may be given several times, `store_true` for switches."""

    @property
    def dest(self) -> str:
        """Name of the value in pytest's namespace."""
        return self.flag.removeprefix("--").replace("-", "_")


def _seconds(flag: str) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            raise ParameterError(flag, text, "a number of seconds, 0 or more", "command line")
        return value

    return parse


def _count(flag: str) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdigit() or int(text) < 1:
            raise ParameterError(flag, text, "a whole number, 1 or more", "command line")
        return int(text)

    return parse


def _bytes(flag: str) -> Callable[[str], int]:
    def parse(text: str) -> int:
        match = re.fullmatch(r"(\d+) *([KMGT]i?B?)?", text)
        count = int(match[1]) * UNITS[(match[2] or "")[:1]] if match else 0
        if count < 1:
            raise ParameterError(flag, text, "a size such as 512MiB or 4GiB", "command line")
        return count

    return parse


def _whole(flag: str) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdigit():
            raise ParameterError(flag, text, "a whole number, 0 or more", "command line")
        return int(text)

    return parse


def _positive(flag: str, what: str) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value < float("inf"):
            raise ParameterError(flag, text, f"a positive number of {what}", "command line")
        return value

    return parse


def _profile(text: str) -> str:
    if text not in PROFILES:
        raise ParameterError("--pario-profile", text, f"one of {', '.join(PROFILES)}", "command line")
    return text


def _pair(text: str) -> str:
    name, equals, _ = text.partition("=")
    if not name or not equals:
        raise ParameterError("--pario-param", text, "name=value", "command line")
    return text


def _loop(text: str) -> str:
    if text not in LOOPS:
        raise ParameterError("--pario-loop", text, f"one of {', '.join(LOOPS)}", "command line")
    return text


def _strategy(text: str) -> str:
    from pytest_pario.schemes.settings import parse_strategy  # numpy comes with it: only where a strategy is asked for

    parse_strategy(text)
    return text


LOOPS = ("auto", "compiled", "python")
UNITS = {"": 1, "K": KiB, "M": MiB, "G": GiB, "T": TiB}
PROFILES = ("quick", "nightly", "full")

# fmt: off
TABLE = (
    OptionSpec("--pario-timeout", _seconds("--pario-timeout"), 300.0, "SECONDS",
               "limit of each phase (setup, call, teardown) of a test under MPI; 0 is none (default 300; "
               "per test: @pytest.mark.pario_timeout(SECONDS))"),
    OptionSpec("--pario-grace", _seconds("--pario-grace"), 10.0, "SECONDS",
               "least time that the other ranks get to follow after one rank has failed (default 10)"),
    OptionSpec("--pario-journal", Path, None, "FILE",
               "journal of finished tests, one JSON line each (default .pario/DATE-PID.jsonl below the rootdir)"),
    OptionSpec("--pario-resume", Path, None, "JOURNAL",
               "skip what JOURNAL has as finished, run the rest, report all of it as one run, go on with JOURNAL"),
    OptionSpec("--pario-rounds", _count("--pario-rounds"), 5, "N",
               "measured rounds of a bandwidth test that names none (default 5)"),
    OptionSpec("--pario-dir", Path, None, "DIR",
               "scratch directory on the filesystem under test (default: environment PARIO_DIR, else ./pario-scratch)"),
    OptionSpec("--pario-profile", _profile, "quick", "NAME",
               "how much is measured: quick (default), nightly or full"),
    OptionSpec("--pario-param", _pair, (), "NAME=VALUE",
               "set a parameter or a hint of the suites; may be repeated, wins over the environment", "append"),
    OptionSpec("--pario-time", _positive("--pario-time", "seconds"), None, "SECONDS",
               "scheduled time T of b_eff_io (default: 2 with the quick profile, 120 nightly, 1800 full)"),
    OptionSpec("--pario-seed", _whole("--pario-seed"), None, "N",
               "seed of the data and of random patterns (default: a new one every run, recorded)"),
    OptionSpec("--pario-memory", _bytes("--pario-memory"), 4 * GiB, "SIZE",
               "most memory for buffers of one rank (default 4GiB)"),
    OptionSpec("--pario-flush-command", str, None, "CMD",
               "site command that empties the servers' caches before a read; its success is the site's statement"),
    OptionSpec("--pario-device-rate", _positive("--pario-device-rate", "MiB/s"), None, "MIB/S",
               "rate that the device can plausibly deliver; a read that is faster is flagged as not from the device"),
    OptionSpec("--pario-loop", _loop, "auto", "NAME",
               "loop that makes the data calls: compiled, python, or auto (default), the first that works"),
    OptionSpec("--pario-strategy", _strategy, None, "NAME[:KEY=VALUE,…]",
               "who carries out the calls of MPI-IO rows that name no strategy: native (the library, collectively), "
               "independent, two_phase, data_shipping or resonant (default: the calls that each row names)"),
    OptionSpec("--pario-drop-caches", bool, False, "",
               "before a read also drop all clean pages of each node (needs root)", "store_true"),
    OptionSpec("--pario-require-cold", bool, False, "",
               "fail a read whose caches cannot be shown to be cold", "store_true"),
    OptionSpec("--pario-machine", str, None, "NAME",
               "name of this machine in the store of nights; yours to give, and to keep over upgrades"),
    OptionSpec("--pario-store", Path, Path("baselines"), "DIR",
               "where nights are kept (default baselines)"),
    OptionSpec("--pario-save", bool, False, "",
               "keep this run as a night of the machine", "store_true"),
    OptionSpec("--pario-check", bool, False, "",
               "fail tests that regressed against the machine's nights (on by itself where --pario-machine names a "
               "machine, or where the store has nights of exactly one)", "store_true"),
    OptionSpec("--pario-remeasure", _seconds("--pario-remeasure"), 120.0, "SECONDS",
               "time at the end of the job for measuring yellow tests again (default 120; 0 is never)"),
    OptionSpec("--pario-passes", _count("--pario-passes"), 1, "N",
               "go over all tests N times, so that the repetitions of a test lie apart (default 1)"),
    OptionSpec("--pario-keep", bool, False, "",
               "leave the files of the suites behind", "store_true"),
    OptionSpec("--pario-keep-on-error", bool, False, "",
               "leave the files of a test behind that fails while a pattern is run", "store_true"),
)
# fmt: on


@dataclass(frozen=True)
class Options:
    """What the command line said."""

    timeout_s: float = 300.0
    """Limit of each phase of a test; 0 is none."""
    grace_s: float = 10.0
    """Least time that ranks get to follow after one has failed."""
    journal: Path | None = None
    """Where to write the journal."""
    resume: Path | None = None
    """Journal of an earlier job to go on with."""
    rounds: int = 5
    """Measured rounds of a bandwidth test that names none."""
    directory: Path | None = None
    """Scratch directory on the filesystem under test."""
    profile: str = "quick"
    """How much is measured."""
    parameters: tuple[str, ...] = ()
    """`name=value` pairs of parameters and hints."""
    time_s: float | None = None
    """Scheduled time of b_eff_io; None takes the profile's."""
    seed: int | None = None
    """Seed of data and random patterns; None draws one."""
    memory_bytes: int = 4 * GiB
    """Most memory for buffers of one rank."""
    flush_command: str | None = None
    """Site command that empties the caches of servers."""
    device_rate: float | None = None
    """MiB/s that the device can plausibly deliver."""
    loop: str = "auto"
    """Loop that makes the data calls."""
    strategy: str | None = None
    """Who carries out the calls of MPI-IO rows that name no strategy."""
    drop_caches: bool = False
    """Also drop all clean pages of each node."""
    require_cold: bool = False
    """Fail a read whose caches cannot be shown to be cold."""
    keep: bool = False
    """Leave the files of the suites behind."""
    keep_on_error: bool = False
    """Leave the files behind of a pattern whose run fails."""
    machine: str | None = None
    """The operator's name of the machine."""
    store: Path = Path("baselines")
    """Where nights are kept."""
    save: bool = False
    """Keep this run as a night."""
    check: bool = False
    """Fail tests that regressed."""
    remeasure_s: float = 120.0
    """Time for measuring yellow tests again."""
    passes: int = 1
    """How often to go over all tests."""

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Options:
        """Build from pytest's namespace; a contradiction is an error here, before anything runs."""
        if values["pario_journal"] is not None and values["pario_resume"] not in (None, values["pario_journal"]):
            raise ParameterError(
                "--pario-journal",
                str(values["pario_journal"]),
                "left out, or the journal that --pario-resume names: a resumed run goes on with that one",
                "command line",
            )
        return cls(
            timeout_s=values["pario_timeout"],
            grace_s=values["pario_grace"],
            journal=values["pario_resume"] or values["pario_journal"],
            resume=values["pario_resume"],
            rounds=values["pario_rounds"],
            directory=values["pario_dir"],
            profile=values["pario_profile"],
            parameters=tuple(values["pario_param"]),
            time_s=values["pario_time"],
            seed=values["pario_seed"],
            memory_bytes=values["pario_memory"],
            flush_command=values["pario_flush_command"],
            device_rate=values["pario_device_rate"],
            loop=values["pario_loop"],
            strategy=values["pario_strategy"],
            drop_caches=values["pario_drop_caches"],
            require_cold=values["pario_require_cold"],
            keep=values["pario_keep"],
            keep_on_error=values["pario_keep_on_error"],
            machine=values["pario_machine"],
            store=values["pario_store"],
            save=values["pario_save"],
            check=values["pario_check"],
            remeasure_s=values["pario_remeasure"],
            passes=values["pario_passes"],
        )
