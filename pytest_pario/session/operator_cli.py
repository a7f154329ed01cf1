"""Parsers of the operator's commands; what they need is imported when they run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

STORE = Path("baselines")
"""Where nights are kept unless another place is named."""


def add_commands(commands: Any) -> None:
    """Add check, page, accept, history, nights, calibrate and ab to the subparsers of `pario`."""
    check = _add(
        commands,
        "check",
        "judge the last night: 0 fine, 1 wrong bytes or failed tests, 3 regression, 4 nothing could be judged",
        _check,
    )
    check.add_argument("--markdown", action="store_true", help="one line per event, worst first")
    check.add_argument("-v", "--verbose", action="store_true", help="a line for every test")
    page = _add(commands, "page", "write the last night as an HTML page; the status is that of check", _page)
    page.add_argument("file", type=Path, metavar="FILE", help="such as night.html")
    accept = _add(commands, "accept", "take the level of a series, or of all that are red, as the new normal", _accept)
    which = accept.add_mutually_exclusive_group(required=True)
    which.add_argument("series", nargs="?", metavar="SERIES", help="name, or a part of it")
    which.add_argument("--all-red", action="store_true", help="every series that is red")
    accept.add_argument("--since", metavar="NIGHT", help="first night of the level (default: where the red began)")
    accept.add_argument("--reason", required=True, metavar="TEXT", help="why; kept with the nights")
    history = _add(commands, "history", "every night of a series, and which facts changed when", _history)
    history.add_argument("series", metavar="SERIES", help="name, or a part of it")
    _add(commands, "nights", "all nights, and which facts changed between them", _nights)
    _add(commands, "calibrate", "replay this site's own nights: false alarms and least detectable falls", _calibrate)
    ab = commands.add_parser(
        "ab",
        allow_abbrev=False,
        help="compare two configurations, interleaved in one job",
        usage="pario ab A B [-n N] [--pairs K] [--runs R] [--effect PART] [--limit SECONDS] [--mpiexec CMD] -- "
        "[pytest arguments]",
        description="A and B are settings in quotes, separated by blanks: hint:KEY=VALUE, param:NAME=VALUE, "
        "env:NAME=VALUE, dir=PATH, python=PATH, mpiexec=CMD, source=SCRIPT; `plain` is none.",
    )
    ab.add_argument("a", metavar="A")
    ab.add_argument("b", metavar="B")
    ab.add_argument("-n", dest="ranks", type=int, default=1, metavar="N", help="number of ranks (default 1)")
    ab.add_argument("--pairs", type=int, default=60, metavar="K", help="most pairs (default 60, least 20)")
    ab.add_argument(
        "--effect", type=float, default=0.10, metavar="PART", help="stop once a change of this size is decided"
    )
    ab.add_argument("--runs", type=int, default=3, metavar="R", help="runs of each side in a pair (default 3)")
    ab.add_argument("--limit", type=float, metavar="SECONDS", help="stop after so long and say what is known by then")
    ab.add_argument("--mpiexec", metavar="CMD", help="launcher and its options")
    ab.add_argument("--json", type=Path, metavar="FILE", help="also write every pair")
    ab.set_defaults(handler=_ab, takes_rest=True)


def _add(commands: Any, name: str, text: str, handler: object) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text)
    parser.add_argument(
        "--store", type=Path, default=STORE, metavar="DIR", help="where the nights are (default baselines)"
    )
    parser.add_argument("--machine", metavar="NAME", help="whose nights (default: the only machine there is)")
    parser.set_defaults(handler=handler)
    return parser


def _say(lines: Iterable[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _check(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.session.operator import check

    status, lines = check(arguments.store, arguments.machine, arguments.markdown, arguments.verbose)
    _say(lines)
    return status


def _page(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.session.page import write_page

    return write_page(arguments.store, arguments.machine, arguments.file)


def _accept(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.session.operator import accept

    status, lines = accept(arguments.store, arguments.machine, arguments.series, arguments.since, arguments.reason)
    _say(lines)
    return status


def _history(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.session.operator import history

    _say(history(arguments.store, arguments.machine, arguments.series))
    return 0


def _nights(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.session.operator import nights

    _say(nights(arguments.store, arguments.machine))
    return 0


def _calibrate(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.session.operator import calibration

    _say(calibration(arguments.store, arguments.machine))
    return 0


def _ab(arguments: argparse.Namespace, rest: list[str]) -> int:
    from pytest_pario.session.ab import Limits, compare_configurations

    limits = Limits(arguments.pairs, arguments.effect, arguments.runs, arguments.limit)
    pytest_arguments = [one for one in rest if one != "--"]
    status, lines = compare_configurations(
        arguments.a, arguments.b, arguments.ranks, limits, arguments.mpiexec, pytest_arguments, arguments.json
    )
    _say(lines)
    return status
